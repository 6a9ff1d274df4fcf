package client

import "context"

// Connection returns a context that ends when the present connection is lost, for whatever must not
// outlive it. After a reconnect Connection returns another one.
func (c *Client) Connection() context.Context { return c.link.Load().base }
