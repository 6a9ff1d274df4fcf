package loop

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"

	"github.com/coder/websocket"
)

const (
	opcodeMore   = 0x0
	opcodeText   = 0x1
	opcodeBinary = 0x2
	opcodeClose  = 0x8
	opcodePing   = 0x9
	opcodePong   = 0xA
	opcodeBits   = 0x0F
	frameFinal   = 0x80
	frameMasked  = 0x80 // in the second byte
	controlMax   = 125  // bytes of a control frame
)

// webSocket makes lines of messages and messages of lines. Frames are read and written here, after the
// library has shaken hands: what is readable is read without waiting for the rest of a frame, many
// messages go out with one write, and no answer to a ping waits for a peer that does not read. Read is
// called by the edge's reader, frame and closeFrame by its writer.
type webSocket struct {
	edge *edge
	in   *bufio.Reader

	left    uint64  // bytes of the data frame that are yet to be read
	mask    [8]byte // of that frame, twice, for the byte that is next
	final   bool    // it is the last of its message
	message bool    // a message has begun and not ended
	ended   bool    // a message has ended, which is yet to be told
	broken  bool    // the peer broke the rules: what still comes is discarded

	partial bool   // a message has been written in part
	reason  string // of the latest closing message
	closing []byte // the close frame to end with, nil: one that tells the reason; under the edge's mu
}

// violation is how a peer broke the rules of its transport.
type violation string

func (v violation) Error() string { return string(v) }

// Read returns the messages that have come, each as a line: a line feed within one can only be white
// space between tokens, and becomes a carriage return. It waits for the first byte only, and returns
// io.EOF for a close frame. A violation is not the end: what comes after it is read and discarded.
func (w *webSocket) Read(b []byte) (n int, err error) {
	if w.broken {
		_, err = w.in.Read(b)
		return 0, err
	}
	for n < len(b) && err == nil {
		switch {
		case w.ended:
			b[n], w.ended = '\n', false
			n++
		case w.left > 0:
			if n > 0 && w.in.Buffered() == 0 {
				return n, nil
			}
			var m int
			m, err = w.payload(b[n:])
			n += m
		default:
			if n > 0 && !w.frameBegun() {
				return n, nil
			}
			err = w.header()
		}
	}
	if _, ok := err.(violation); ok {
		w.broken = true
	}
	return n, err
}

// payload reads what there is of a frame, at most len(b) bytes.
func (w *webSocket) payload(b []byte) (int, error) {
	n, err := w.in.Read(b[:min(uint64(len(b)), w.left)])
	b = b[:n]
	w.unmask(b)
	for i := 0; ; i++ {
		next := bytes.IndexByte(b[i:], '\n')
		if next < 0 {
			break
		}
		i += next
		b[i] = '\r'
	}
	if w.left -= uint64(n); w.left == 0 {
		w.endFrame()
	}
	return n, err
}

func (w *webSocket) endFrame() {
	w.message, w.ended = !w.final, w.final
}

// unmask undoes the client's masking.
func (w *webSocket) unmask(b []byte) {
	mask := binary.LittleEndian.Uint64(w.mask[:])
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^mask)
		b = b[8:]
	}
	for i := range b {
		b[i] ^= w.mask[i]
	}
	w.setMask(w.mask[len(b)%4], w.mask[(len(b)+1)%4], w.mask[(len(b)+2)%4], w.mask[(len(b)+3)%4])
}

func (w *webSocket) setMask(m0, m1, m2, m3 byte) { w.mask = [8]byte{m0, m1, m2, m3, m0, m1, m2, m3} }

// frameBegun reports whether the header of a data frame has come, so that reading it does not wait.
func (w *webSocket) frameBegun() bool {
	n := w.in.Buffered()
	if n < 2 {
		return false
	}
	head, _ := w.in.Peek(2)
	return head[0]&opcodeBits < opcodeClose && n >= headerBytes(head[1])
}

// headerBytes is the size of a frame's header, by its second byte.
func headerBytes(second byte) int {
	switch second & 0x7F {
	case 126:
		return 2 + 2 + 4
	case 127:
		return 2 + 8 + 4
	}
	return 2 + 4
}

// header reads the header of a frame, and all of a control frame.
func (w *webSocket) header() error {
	head, err := w.in.Peek(2)
	if err != nil {
		return err
	}
	first, second := head[0], head[1]
	opcode, size := first&opcodeBits, uint64(second&0x7F)
	switch {
	case first&0x70 != 0:
		return violation("a WebSocket frame with reserved bits")
	case second&frameMasked == 0:
		return violation("a WebSocket frame without a mask")
	case opcode == opcodeBinary:
		return violation("a binary message")
	case opcode > opcodeBinary && opcode < opcodeClose || opcode > opcodePong:
		return violation("a WebSocket frame of an unknown kind")
	case opcode >= opcodeClose && (size > controlMax || first&frameFinal == 0):
		return violation("a WebSocket control frame that is too long or not whole")
	case opcode == opcodeText && w.message:
		return violation("a message within a message")
	case opcode == opcodeMore && !w.message:
		return violation("the rest of a message that has not begun")
	}
	n := headerBytes(second)
	if head, err = w.in.Peek(n); err != nil {
		return err
	}
	switch size {
	case 126:
		size = uint64(binary.BigEndian.Uint16(head[2:]))
	case 127:
		size = binary.BigEndian.Uint64(head[2:])
	}
	w.setMask(head[n-4], head[n-3], head[n-2], head[n-1])
	_, _ = w.in.Discard(n) // it is there
	if opcode >= opcodeClose {
		return w.control(opcode, int(size))
	}
	w.left, w.final, w.message = size, first&frameFinal != 0, true
	if size == 0 {
		w.endFrame()
	}
	return nil
}

// control reads what a control frame says and answers. After a close frame nothing is read any more.
func (w *webSocket) control(opcode byte, size int) error {
	var said [controlMax]byte
	if _, err := io.ReadFull(w.in, said[:size]); err != nil {
		return err
	}
	w.unmask(said[:size])
	switch opcode {
	case opcodePing:
		w.edge.interject(append([]byte{frameFinal | opcodePong, byte(size)}, said[:size]...))
		return nil
	case opcodePong:
		return nil
	}
	if size == 1 {
		return violation("a WebSocket close frame with half a status code")
	}
	answer := append([]byte{frameFinal | opcodeClose, byte(min(size, 2))}, said[:min(size, 2)]...)
	w.edge.mu.Lock()
	w.closing = answer
	w.edge.mu.Unlock()
	return io.EOF
}

// frame appends lines as messages. One that does not end here goes on with the next call.
func (w *webSocket) frame(dst, lines []byte) []byte {
	for len(lines) > 0 {
		line, rest, final := bytes.Cut(lines, []byte{'\n'})
		lines = rest
		head := byte(opcodeText)
		if w.partial {
			head = opcodeMore
		}
		if final {
			head |= frameFinal
			w.notice(line)
		}
		w.partial = !final
		switch n := len(line); {
		case n <= controlMax:
			dst = append(dst, head, byte(n))
		case n < 1<<16:
			dst = binary.BigEndian.AppendUint16(append(dst, head, 126), uint16(n))
		default:
			dst = binary.BigEndian.AppendUint64(append(dst, head, 127), uint64(n))
		}
		dst = append(dst, line...)
	}
	return dst
}

var (
	closingHead = []byte(`{"jsonrpc":"2.0","method":"x-relay/closing",`)
	reasonHead  = []byte(`"reason":"`)
)

// notice remembers why the relay will close the connection.
func (w *webSocket) notice(line []byte) {
	if !bytes.HasPrefix(line, closingHead) {
		return
	}
	_, reason, _ := bytes.Cut(line, reasonHead)
	reason, _, _ = bytes.Cut(reason, []byte{'"'})
	w.reason = string(reason)
}

// closeCodes are the status codes that tell most about the reason; the others are a policy's.
var closeCodes = map[string]websocket.StatusCode{
	"":                websocket.StatusNormalClosure,
	"shutdown":        websocket.StatusGoingAway,
	"frameTooLarge":   websocket.StatusMessageTooBig,
	"protocolErrors":  websocket.StatusProtocolError,
	"slowConsumer":    websocket.StatusTryAgainLater,
	"connectionLimit": websocket.StatusTryAgainLater,
}

// closeFrame is the last frame to be written: the answer to the peer's, or one with the reason of the
// closing message.
func (w *webSocket) closeFrame() []byte {
	w.edge.mu.Lock()
	defer w.edge.mu.Unlock()
	if w.closing != nil {
		return w.closing
	}
	code, ok := closeCodes[w.reason]
	if !ok {
		code = websocket.StatusPolicyViolation
	}
	frame := binary.BigEndian.AppendUint16([]byte{frameFinal | opcodeClose, byte(2 + len(w.reason))}, uint16(code))
	return append(frame, w.reason...)
}
