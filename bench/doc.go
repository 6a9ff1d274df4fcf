// Package bench measures message relays: it starts one as a child process (or attaches to one), drives
// it over raw sockets from a single thread, and reports messages per second, server CPU per delivered
// message, memory and latency.
//
// The generator is built to cost little beside what it measures. Frames are formatted before the clock
// runs, hundreds of distinct ones a sender in a cyclic ring, because a repeated frame trains the branch
// predictor of whoever parses it. Senders write 64 KiB slices of their ring in a closed loop with a
// window of messages on the way. A receiver knows the ring of each of its senders and compares what it
// reads with what is due, so that order, count and every byte are checked by memory comparison: a lost,
// reordered, repeated or altered message ends the run with an error.
//
// A System starts servers, a Dialect speaks their wire format, a Scenario says who sends what to whom.
// Everything that a run opens it closes again; a Ring and the slices cut from it live until the run
// ends. Nothing here is safe for concurrent use: an engine belongs to the thread that runs it. It polls,
// pins and reads CPU clocks as only Linux lets it.
package bench
