//go:build race

package relay

// raced says that the race detector is at work: it makes sync.Pool drop buffers at random.
const raced = true
