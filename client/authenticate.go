package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/goccy/go-json"
)

// Authenticate presents a bearer token on the live connection and on every later one: what to do after
// an AuthRequired event, or before a token expires.
func (c *Client) Authenticate(ctx context.Context, token string) error {
	l := c.link.Load()
	c.mu.Lock()
	resource := c.resource
	c.mu.Unlock()
	if resource == "" {
		resource = c.opt.resource
	}
	if resource == "" {
		resource = defaultResource
	}
	if err := l.authenticate(ctx, resource, token); err != nil {
		return fmt.Errorf("client: authenticate: %w", err)
	}
	c.mu.Lock()
	c.token = token
	c.mu.Unlock()
	return nil
}

// preAuthenticate authenticates before the handshake: with the resource configured, the one that was
// right before, or the relay's usual one. unknown is the error when that last guess was wrong.
func (l *link) preAuthenticate(ctx context.Context) (unknown, err error) {
	l.c.mu.Lock()
	resource, token := l.c.resource, l.c.token
	l.c.mu.Unlock()
	if token == "" {
		return nil, nil
	}
	if l.c.opt.resource != "" {
		resource = l.c.opt.resource
	}
	if resource != "" {
		return nil, l.authenticate(ctx, resource, token)
	}
	err = l.authenticate(ctx, defaultResource, token)
	if errors.Is(err, ErrInvalidParams) {
		return err, nil
	}
	return nil, err
}

// learnResource authenticates after the handshake, with a resource that the relay's refusal of anything
// else names. unknown is returned if it names none.
func (l *link) learnResource(ctx context.Context, unknown error) error {
	_, refusal := l.request(ctx, "subscribe", rootParams{Channel: servicesChannel}, nil)
	if refusal == nil {
		l.c.cat.unsubscribe(l)
	}
	l.c.mu.Lock()
	token := l.c.token
	l.c.mu.Unlock()
	err := unknown
	for _, resource := range resourcesOf(refusal) {
		if err = l.authenticate(ctx, resource, token); err == nil {
			return nil
		}
	}
	return fmt.Errorf("authenticate (WithResource names the resource): %w", err)
}

func (l *link) authenticate(ctx context.Context, resource, token string) error {
	params := authenticateParams{Channel: rootChannel, Resource: resource, Token: token}
	if _, err := l.request(ctx, "authenticate", params, nil); err != nil {
		return err
	}
	l.c.mu.Lock()
	l.c.resource = resource
	l.c.mu.Unlock()
	return nil
}

// resourcesOf returns the protected resources that an error names, at most four.
func resourcesOf(err error) []string {
	var e *Error
	if !errors.As(err, &e) {
		return nil
	}
	var data struct {
		Resources []struct {
			Resource string `json:"resource"`
		} `json:"resources"`
	}
	if json.Unmarshal(e.Data, &data) != nil {
		return nil
	}
	var out []string
	for _, r := range data.Resources[:min(len(data.Resources), 4)] {
		out = append(out, r.Resource)
	}
	return out
}
