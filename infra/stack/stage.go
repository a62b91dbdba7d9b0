package stack

import "fmt"

// Stage is what a deployment is for; it is part of the stack's name, so the
// stages of one account don't meet.
type Stage string

// The stages.
const (
	Dev  Stage = "dev"  // goes without a trace
	Prod Stage = "prod" // is kept even from its owner's mistakes
)

// ParseStage reads a stage's name; empty is Dev, so that Prod is always said.
func ParseStage(name string) (Stage, error) {
	switch s := Stage(name); s {
	case "":
		return Dev, nil
	case Dev, Prod:
		return s, nil
	}
	return "", fmt.Errorf("stage %q: must be %s or %s", name, Dev, Prod)
}
