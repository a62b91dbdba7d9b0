//go:build !race

package protocoltest

// schedules is how many TestSchedules runs.
const schedules = 20000
