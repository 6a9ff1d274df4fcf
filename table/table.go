// Package table holds the relay's state without its rules: services, requests in flight, timers, the
// replay buffer, remembered clients and quotas.
//
// Peers are named by small dense integers that the caller chooses (their index in its own table).
// Nothing here is safe for concurrent use, knows a clock or a socket, or calls back: one goroutine
// owns it all and passes the time in. Pointers and indexes stay valid until the entry is freed;
// what took a quota gives it back.
package table

// Quota is a counted allowance. The holder of what was taken gives it back.
type Quota struct {
	Used int
	Max  int // 0: without limit
}

// Take charges n and reports whether it fits; nothing is charged when it does not.
func (q *Quota) Take(n int) bool {
	if !q.Fits(n) {
		return false
	}
	q.Used += n
	return true
}

// Fits reports whether Take(n) would succeed.
func (q *Quota) Fits(n int) bool { return q.Max == 0 || q.Used+n <= q.Max }

// Give returns n that Take charged.
func (q *Quota) Give(n int) {
	if q.Used < n {
		panic("table: quota given back more than taken")
	}
	q.Used -= n
}
