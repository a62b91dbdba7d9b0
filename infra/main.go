// Command infra writes Warden's CloudFormation templates. The CDK's command
// line runs it; `-c stage=prod` chooses the stage, dev without.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/wardenhq/warden/infra/stack"
)

func main() {
	if err := synthesize(); err != nil {
		fmt.Fprintln(os.Stderr, "infra:", err)
		os.Exit(1)
	}
}

func synthesize() error {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	name, _ := app.Node().TryGetContext(jsii.String("stage")).(string) // absent: the default stage
	stage, err := stack.ParseStage(name)
	if err != nil {
		return err
	}
	stack.New(app, stage)
	app.Synth(nil)
	return nil
}
