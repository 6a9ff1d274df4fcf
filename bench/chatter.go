//go:build linux

package bench

import "fmt"

// chatter takes what arrives where no messages are expected: receipts, and what a server says for
// itself.
type chatter struct {
	name    string
	engine  *engine
	dialect Dialect
	tail    []byte
}

func (c *chatter) accept(buf []byte) error {
	if len(c.tail) > 0 {
		c.tail = append(c.tail, buf...)
		buf = c.tail
	}
	receipt := c.dialect.Receipt()
	for len(buf) > 0 {
		if n := len(receipt); n > 0 && len(buf) >= n && string(buf[:n]) == string(receipt) {
			c.engine.receipts--
			buf = buf[n:]
			continue
		}
		if commonLen(buf, receipt) == len(buf) {
			break
		}
		n, _, err := c.dialect.Control(buf)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if n < 0 {
			return fmt.Errorf("%s: unexpected %s", c.name, quote(buf))
		}
		if n == 0 {
			break
		}
		buf = buf[n:]
	}
	c.tail = append(c.tail[:0], buf...)
	return nil
}
