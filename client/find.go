package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ahprelay/ahprelay/codec"
)

// Matcher selects services.
type Matcher struct{ terms []term }

type term struct{ key, value string } // key "" stands for the service's id

// NewMatcher makes a Matcher of terms that must all hold. "key=value" compares a top-level member of
// the metadata: a string by its text, anything else by its JSON text. A term without "=" is a serviceId.
func NewMatcher(match ...string) (Matcher, error) {
	var m Matcher
	for _, text := range match {
		key, value, pair := strings.Cut(text, "=")
		switch {
		case !pair && text != "":
			m.terms = append(m.terms, term{value: text})
		case pair && key != "":
			m.terms = append(m.terms, term{key: key, value: value})
		default:
			return Matcher{}, fmt.Errorf("client: match %q: want key=value or a service id", text)
		}
	}
	return m, nil
}

// Match reports whether every term holds for the service.
func (m Matcher) Match(s ServiceInfo) bool {
	for _, t := range m.terms {
		if t.key == "" && t.value != s.ID || t.key != "" && !hasMember(s.Metadata, t.key, t.value) {
			return false
		}
	}
	return true
}

func hasMember(metadata []byte, key, want string) bool {
	members := codec.ObjectMembers(metadata)
	for name, value, ok := members.Next(); ok; name, value, ok = members.Next() {
		if !codec.EqualString(name, key) {
			continue
		}
		if codec.KindOf(value) == codec.String {
			return codec.EqualString(value, want)
		}
		return string(value) == want
	}
	return false
}

// Find waits until a service matches (see NewMatcher) and returns it; of several the one registered
// first. It goes on waiting across reconnects.
func (c *Client) Find(ctx context.Context, match ...string) (ServiceInfo, error) {
	m, err := NewMatcher(match...)
	if err != nil {
		return ServiceInfo{}, err
	}
	for {
		changed := c.nextLink()
		info, err := c.find(ctx, m)
		if !errors.Is(err, ErrDisconnected) {
			return info, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ServiceInfo{}, ctx.Err()
		case <-c.closed:
			return ServiceInfo{}, c.Err()
		}
	}
}

func (c *Client) find(ctx context.Context, m Matcher) (ServiceInfo, error) {
	w, err := c.Watch(ctx)
	if err != nil {
		return ServiceInfo{}, err
	}
	defer w.Close()
	for ev := range w.Events() {
		if ev.Kind == ServiceSet && m.Match(ev.Service) {
			return ev.Service, nil
		}
		for _, s := range ev.Services {
			if m.Match(s) {
				return s, nil
			}
		}
	}
	return ServiceInfo{}, w.Err()
}

// FindAll returns the services that match right now, in order of registration; none is no error.
func (c *Client) FindAll(ctx context.Context, match ...string) ([]ServiceInfo, error) {
	m, err := NewMatcher(match...)
	if err != nil {
		return nil, err
	}
	all, err := c.Services(ctx)
	if err != nil {
		return nil, err
	}
	var out []ServiceInfo
	for _, s := range all {
		if m.Match(s) {
			out = append(out, s)
		}
	}
	return out, nil
}

// nextLink returns a channel that is closed when the connection has been replaced.
func (c *Client) nextLink() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}
