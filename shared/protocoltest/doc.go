// Package protocoltest runs the real code of definition writes, policy writes
// and checks under seeded schedules and judges every answer.
//
// Each schedule is a small world over a weak table: eventual reads show an
// earlier moment, an accepted transaction becomes visible to plain reads item by
// item, transactions conflict, answers are lost. Its actors run one at a time,
// as coroutines that stop before every table call and again before they see the
// answer; a seeded scheduler says who goes on, and time is virtual. A seed gives
// the same run each time.
//
// What is held:
//
//   - strong: an answer is right in a state between the last write acknowledged
//     before the question and the answer, and questions one after the other never
//     go back
//   - at_least: policy and definitions are each at least as new as the token's write
//   - default: policy and definitions are each no older than cache age, replica
//     lag and commit visibility together
//   - a request takes effect once at most, and what is refused took none
//   - at rest: every document is true or caught by flux; after the fan-out, flux
//     is empty, every document equals a recomputation, default and strong say what
//     first principles say; no cycle, no dangling reference, members and counters true
//
// Mutations show what each rule is for: they take one clause away, at the port
// or in the source, and the test demands that it is missed.
//
// To run one schedule with its trace:
//
//	WARDEN_SEED=4711 go test ./shared/protocoltest -run TestSchedules -v
package protocoltest
