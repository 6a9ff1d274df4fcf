package rpc_test

import (
	"sync"
	"testing"

	"github.com/ahprelay/ahprelay/client/rpc"
)

func BenchmarkCall(b *testing.B) {
	x := newBench(b, benchOptions{}).x
	ctx := b.Context()
	for b.Loop() {
		if _, err := x.Add(ctx, 1, 2); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCallParallel(b *testing.B) {
	x := newBench(b, benchOptions{}).x
	ctx := b.Context()
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := x.Add(ctx, 1, 2); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkEvents(b *testing.B) {
	s := newBench(b, benchOptions{buffer: 1 << 20, user: []rpc.Option{rpc.WithWindow(1024)}})
	ctx := b.Context()
	sub, err := s.x.Ticks(ctx, nil)
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	b.ResetTimer()
	wg.Go(func() {
		for range b.N {
			s.lab.emitter.tick(ctx)
		}
	})
	for n := 0; n < b.N; {
		ev, err := sub.Next(ctx)
		if err != nil {
			b.Fatal(err)
		}
		n += 1 + int(ev.Dropped)
	}
	wg.Wait()
}
