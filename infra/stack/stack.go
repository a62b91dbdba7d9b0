// Package stack builds Warden's CloudFormation stack from the topology: what
// there is and how it is wired is declared there, how AWS is asked for it here.
package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/wardenhq/warden/functions/topology"
)

// New adds the stack of one stage to an app.
func New(scope constructs.Construct, stage Stage) awscdk.Stack {
	stack := awscdk.NewStack(scope, jsii.String("warden-"+string(stage)), &awscdk.StackProps{
		Description:           jsii.String("Warden, stage " + string(stage)),
		TerminationProtection: jsii.Bool(stage == Prod),
	})
	newTable(stack, topology.DataTable(), stage)
	return stack
}
