// Package codec reads and writes the relay's wire format: frames, JSON-RPC envelopes and error codes.
//
// It understands the envelope and the few members of params that the relay acts on; application
// payloads are validated and copied byte for byte, never decoded. Nothing here allocates on the way of
// a message, and every Span or slice that it hands out aliases the caller's line: it lives as long as
// that line does.
package codec
