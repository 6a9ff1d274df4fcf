package client

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
)

// BenchmarkNotify sends notifications through the real relay from one client to another, in windows so
// that the relay drops none, and counts them at the receiver.
func BenchmarkNotify(b *testing.B) {
	r := relayed(b)
	owner, sender := r.joined(b, "owner"), r.joined(b, "sender")
	var got, dropped atomic.Int64
	wake := make(chan struct{}, 1)
	s, err := owner.Register(deadline(b), nil, nil,
		OnNotify(func(context.Context, *Notification) {
			if got.Add(1)%1024 == 0 {
				select {
				case wake <- struct{}{}:
				default:
				}
			}
		}),
		OnDropped(func(n uint64) { dropped.Add(int64(n)) }))
	if err != nil {
		b.Fatal(err)
	}
	params := json.RawMessage(`{"n":12345,"text":"0123456789abcdef"}`)
	b.ReportAllocs()
	b.ResetTimer()
	const window = 8192
	for i := range int64(b.N) {
		for i-got.Load() >= window {
			<-wake
		}
		if err := sender.Notify(s.ID(), "tick", params); err != nil {
			b.Fatal(err)
		}
	}
	if err := sender.Flush(context.Background()); err != nil {
		b.Fatal(err)
	}
	if err := owner.Flush(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	if n := dropped.Load(); n > 0 {
		b.Fatalf("%d of %d dropped", n, b.N)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
}

// BenchmarkCallParallel keeps 128 requests in flight from one client to another.
func BenchmarkCallParallel(b *testing.B) {
	r := relayed(b)
	owner, caller := r.joined(b, "owner"), r.joined(b, "caller")
	s := offer(b, owner, "x")
	id := s.ID()
	params := json.RawMessage(`{"n":12345,"text":"0123456789abcdef"}`)
	b.SetParallelism(64)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		var result json.RawMessage
		for pb.Next() {
			if err := caller.Call(context.Background(), id, "echo", params, &result); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// BenchmarkCall has one request in flight: the round trip through the relay.
func BenchmarkCall(b *testing.B) {
	r := relayed(b)
	owner, caller := r.joined(b, "owner"), r.joined(b, "caller")
	id := offer(b, owner, "x").ID()
	var result json.RawMessage
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if err := caller.Call(context.Background(), id, "echo", json.RawMessage(`1`), &result); err != nil {
			b.Fatal(err)
		}
	}
}
