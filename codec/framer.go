package codec

import (
	"bytes"
	"math/bits"
)

// FrameStatus is what Framer.Next found.
type FrameStatus uint8

const (
	FrameMore    FrameStatus = iota // no complete line left; the unfinished one is kept
	FrameLine                       // a line
	FrameTooLong                    // the line exceeds the limit; the Framer is finished
)

const (
	tailBytesKept = 64 << 10 // capacity of the tail that is kept for the next unfinished line
	tailBytesMin  = 512      // smallest tail
	strippedBytes = 4        // the byte order mark and the CR, which count towards no limit
)

var byteOrderMark = []byte{0xEF, 0xBB, 0xBF}

// Framer cuts the bytes of one connection into lines. The zero value is ready to use.
//
// A line ends with LF and nothing else. A CR right before the LF and a byte order mark at the start of
// the first line are stripped and count towards no limit; empty lines are skipped. The unfinished line
// between two reads is kept in the tail, which never grows beyond the limit, a byte order mark and a CR.
type Framer struct {
	tail     []byte
	returned bool // the tail is the line that Next returned last
	later    bool // the first line is over
	failed   bool
}

// Next returns the next line of data, the bytes that have arrived, and the rest of data to call it with
// again; limit is the largest allowed length of a line, in bytes.
//
// The line aliases data when all of it is there, else the tail: it is valid until the next call. With
// FrameMore all of data has been taken and rest is nil. FrameTooLong is reported as soon as the line is
// known to be too long; the bytes so far are forgotten and every further call reports it again.
func (f *Framer) Next(data []byte, limit int) (line, rest []byte, s FrameStatus) {
	if f.returned {
		f.reuse()
	}
	for !f.failed {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			return f.keep(data, limit)
		}
		line, rest = data[:end:end], data[end+1:]
		if len(f.tail) > 0 {
			if f.exceeds(line, limit) {
				break
			}
			f.append(line, limit)
			line, f.returned = f.tail, true
		}
		if line = f.strip(line); len(line) > limit {
			break
		}
		if len(line) > 0 {
			return line, rest, FrameLine
		}
		if f.returned {
			f.reuse()
		}
		data = rest
	}
	f.Release()
	f.failed = true
	return nil, nil, FrameTooLong
}

// keep appends data, which has no LF, to the tail.
func (f *Framer) keep(data []byte, limit int) (line, rest []byte, s FrameStatus) {
	if f.exceeds(data, limit) {
		f.Release()
		f.failed = true
		return nil, nil, FrameTooLong
	}
	if len(data) > 0 {
		f.append(data, limit)
	}
	return nil, nil, FrameMore
}

// exceeds reports whether a line that begins with the tail and data must be longer than limit, however
// it goes on.
func (f *Framer) exceeds(data []byte, limit int) bool {
	size := len(f.tail) + len(data)
	if size <= limit {
		return false
	}
	size -= f.markLen(data)
	if size == limit+1 {
		return f.at(data, len(f.tail)+len(data)-1) != '\r'
	}
	return size > limit
}

// markLen returns how many bytes of the line that begins with the tail and data belong to a byte order
// mark to be stripped, so far.
func (f *Framer) markLen(data []byte) int {
	if f.later {
		return 0
	}
	size := min(len(f.tail)+len(data), len(byteOrderMark))
	for i := range size {
		if f.at(data, i) != byteOrderMark[i] {
			return 0
		}
	}
	return size
}

// at returns byte i of the tail followed by data.
func (f *Framer) at(data []byte, i int) byte {
	if i < len(f.tail) {
		return f.tail[i]
	}
	return data[i-len(f.tail)]
}

// strip removes what does not belong to a complete line.
func (f *Framer) strip(line []byte) []byte {
	if !f.later {
		f.later = true
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	if last := len(line) - 1; last >= 0 && line[last] == '\r' {
		line = line[:last:last]
	}
	return line
}

// append adds data to the tail, which grows in powers of two but not beyond what limit allows to be
// needed.
func (f *Framer) append(data []byte, limit int) {
	if need := len(f.tail) + len(data); need > cap(f.tail) {
		size := max(1<<bits.Len(uint(need-1)), tailBytesMin)
		grown := make([]byte, len(f.tail), max(min(size, limit+strippedBytes), need))
		copy(grown, f.tail)
		f.tail = grown
	}
	f.tail = append(f.tail, data...)
}

// reuse empties the tail after the line in it has been used.
func (f *Framer) reuse() {
	f.returned = false
	f.tail = f.tail[:0]
	if cap(f.tail) > tailBytesKept {
		f.tail = nil
	}
}

// Pending returns how many bytes of an unfinished line are kept.
func (f *Framer) Pending() int {
	if f.returned {
		return 0
	}
	return len(f.tail)
}

// Held returns how many bytes of memory the tail holds.
func (f *Framer) Held() int { return cap(f.tail) }

// Release forgets the unfinished line and frees the tail. A line that Next returned stays intact.
func (f *Framer) Release() {
	f.tail, f.returned = nil, false
}
