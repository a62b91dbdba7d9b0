//go:build race

package protocoltest

// schedules is how many TestSchedules runs: the race detector makes each many
// times slower, and adds nothing where one actor runs at a time.
const schedules = 1000
