//go:build linux

package codec

import (
	"math/rand/v2"
	"syscall"
	"testing"
)

// TestGuardPages validates lines that end where the mapped memory ends, and lines that begin where it begins: no byte
// outside them is read.
func TestGuardPages(t *testing.T) {
	page := syscall.Getpagesize()
	size := 4 * page
	memory, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Munmap(memory); err != nil {
			t.Error(err)
		}
	}()
	for _, guard := range [][]byte{memory[:page], memory[page+size:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	mapped := memory[page : page+size : page+size]
	r := rand.New(rand.NewPCG(10, 10))
	for range 4000 {
		for _, payload := range payloads {
			body := payload.make(r, 1+r.IntN(1+r.IntN(3000)))
			if r.IntN(2) == 0 {
				body = body[:1+r.IntN(len(body))] // cut off
			}
			want := SkipValue(body, 0, 64)
			for _, place := range [][]byte{mapped[:len(body):len(body)], mapped[size-len(body):]} {
				copy(place, body)
				if got := SkipValue(place, 0, 64); got != want {
					t.Fatalf("end %d, want %d: %q", got, want, body)
				}
			}
			var m Message
			line := append([]byte(`{"jsonrpc":"2.0","method":"clientService/notify","params":`), append(body, '}')...)
			ok := Parse(line, 64, &m)
			for _, place := range [][]byte{mapped[:len(line):len(line)], mapped[size-len(line):]} {
				copy(place, line)
				if Parse(place, 64, &m) != ok {
					t.Fatalf("%v elsewhere: %q", ok, line)
				}
			}
		}
	}
}
