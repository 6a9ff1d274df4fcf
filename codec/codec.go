// Package codec reads and writes the relay's wire format: frames, JSON-RPC envelopes and error codes.
//
// It understands the envelope and the few members of params that the relay acts on; application
// payloads are validated and copied byte for byte, never decoded. Nothing here allocates on the way of
// a message, and every Span or slice that it hands out aliases the caller's line: it lives as long as
// that line does.
//
// A line goes through the Framer, which cuts it out, and Parse, which judges and sorts it. Parse walks
// the envelope and params name by name (parse.go, name.go, usual.go), skips values (scanner.go,
// string.go, number.go) and checks UTF-8 last (utf8.go). Built with GOEXPERIMENT=simd on amd64, long
// strings, UTF-8 and containers of 40 bytes and more are scanned with AVX2 where the machine has it, or AVX-512
// (the files _simd.go); plain.go stands in elsewhere, with the same answers.
package codec
