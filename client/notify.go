package client

import "context"

// Notify sends a notification to a service: at most once, in the order of the calls, without any answer
// whether it arrived. It returns once the notification is in the output buffer, which is written at
// once, many notifications in one write when they come fast; when the buffer (1 MiB) is full it waits.
// An error means that nothing was sent.
func (c *Client) Notify(serviceID, method string, params any) error {
	raw, err := encodeJSON(params)
	if err != nil {
		return err
	}
	l := c.link.Load()
	size := len(serviceID) + len(method) + len(raw) + envelopeSlop
	if err := l.out.lock(context.Background(), size); err != nil {
		return c.because(err)
	}
	at := len(l.out.buf)
	l.out.buf = appendNotify(l.out.buf, serviceID, method, raw)
	err = l.trim(at)
	l.out.unlock()
	return err
}
