//go:build !linux

package process

// Of is ErrUnsupported here.
func Of(int) (Usage, error) { return Usage{}, ErrUnsupported }
