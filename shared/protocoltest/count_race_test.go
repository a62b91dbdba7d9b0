//go:build race

package protocoltest

// schedules is how many TestSchedules runs: the race detector makes each many
// times slower, and adds little where one actor runs at a time.
const schedules = 500
