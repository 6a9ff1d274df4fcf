//go:build !linux

package loop

import "time"

type chatter struct{ hot, delivered bool }

// coalescer does nothing here: the pause needs ppoll.
type coalescer struct{}

func newCoalescer(time.Duration) (*coalescer, error) { return nil, nil }
func (k *coalescer) close()                          {}
func (k *coalescer) add(int)                         {}
func (k *coalescer) remove(int)                      {}
func (k *coalescer) read(*conn, int, time.Duration)  {}
