package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
)

const (
	rootChannel     = codec.ChannelRoot
	servicesChannel = codec.ChannelServices
	resumeTokenKey  = "ahprelay.resumeToken"

	// defaultResource is what a relay calls its protected resource unless it is configured otherwise.
	defaultResource = "https://ahprelay.localhost"

	// handshakeBytes bounds an incoming frame until the relay has announced its own bound.
	handshakeBytes = 1 << 20
	// snapshotBytes bounds the answer to a reconnect, which may carry the catalogue of a relay that
	// announced less before it was restarted.
	snapshotBytes = 64 << 20
)

// hello is what a handshake yields.
type hello struct {
	server      ServerInfo
	limits      Limits
	resumeToken string
}

type rootParams struct {
	Channel string `json:"channel"`
}

type clientInfo struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type initializeParams struct {
	Channel          string     `json:"channel"`
	ProtocolVersions []string   `json:"protocolVersions"`
	ClientID         string     `json:"clientId"`
	ClientInfo       clientInfo `json:"clientInfo"`
	Subscriptions    []string   `json:"initialSubscriptions,omitempty"`
}

type reconnectParams struct {
	Channel           string            `json:"channel"`
	ClientID          string            `json:"clientId"`
	LastSeenServerSeq uint64            `json:"lastSeenServerSeq"`
	Subscriptions     []string          `json:"subscriptions"`
	Meta              map[string]string `json:"_meta,omitempty"`
}

type authenticateParams struct {
	Channel  string `json:"channel"`
	Resource string `json:"resource"`
	Token    string `json:"token"`
}

// helloResult is what the results of initialize and reconnect have in common, and what each adds.
type helloResult struct {
	ProtocolVersion  string      `json:"protocolVersion"`
	ServerSeq        uint64      `json:"serverSeq"`
	ServerInfo       *ServerInfo `json:"serverInfo"`
	DefaultDirectory string      `json:"defaultDirectory"`
	ClientServices   *struct {
		Limits json.RawMessage `json:"limits"`
	} `json:"clientServices"`
	Meta map[string]json.RawMessage `json:"_meta"`

	Type      string            `json:"type"` // of a reconnect: replay or snapshot
	Actions   []json.RawMessage `json:"actions"`
	Missing   []string          `json:"missing"`
	Snapshots []snapshotResult  `json:"snapshots"`
}

// connect dials, authenticates and performs the handshake: a reconnect when there was a link before,
// falling back to a fresh one if the relay does not want it.
func (c *Client) connect(ctx context.Context, before *link) (*link, error) {
	tr, err := dial(ctx, c.url, &c.opt)
	if err != nil {
		return nil, err
	}
	if c.opt.trace != nil {
		tr = traced{tr, c.opt.trace}
	}
	limit := handshakeBytes
	if before != nil {
		limit = max(snapshotBytes, before.limit)
	}
	l := newLink(c, tr, min(limit, c.opt.frameBytes))
	stop := context.AfterFunc(c.stop, func() { l.fail(context.Cause(c.stop)) })
	err = l.handshake(ctx, before)
	stop()
	if err != nil {
		l.fail(err)
		<-l.done
		return nil, fmt.Errorf("client: handshake with %s: %w", c.url.Redacted(), err)
	}
	return l, nil
}

func (l *link) handshake(ctx context.Context, before *link) error {
	unknown, err := l.preAuthenticate(ctx)
	if err != nil {
		return err
	}
	if err := l.introduce(ctx, before); err != nil {
		return err
	}
	if unknown != nil {
		return l.learnResource(ctx, unknown)
	}
	return nil
}

// introduce performs the handshake proper: a reconnect where there was a link before.
func (l *link) introduce(ctx context.Context, before *link) error {
	if before == nil || before.hello.resumeToken == "" {
		return l.initialize(ctx)
	}
	l.hello.server = before.hello.server
	err := l.reconnect(ctx, before)
	if errors.Is(err, ErrMethodNotFound) || errors.Is(err, ErrInvalidParams) || errors.Is(err, ErrInvalidRequest) {
		return l.initialize(ctx)
	}
	return err
}

// initialize performs the first handshake of a clientId.
func (l *link) initialize(ctx context.Context) error {
	o := &l.c.opt
	subscriptions, _ := l.c.cat.resume()
	params := initializeParams{
		Channel: rootChannel, ProtocolVersions: o.versions, ClientID: o.clientID,
		ClientInfo: clientInfo{Name: o.name, Version: o.version}, Subscriptions: subscriptions,
	}
	_, err := l.request(ctx, "initialize", params, func(raw []byte) error {
		r, err := l.accept(raw)
		if err != nil {
			return err
		}
		l.c.setLink(l) // first, so that who learns of a service from the catalogue can call it
		return l.c.cat.resumed(l, r)
	})
	return err
}

// reconnect takes the place of the link before, and resumes the catalogue if it is being watched.
func (l *link) reconnect(ctx context.Context, before *link) error {
	subscriptions, seq := l.c.cat.resume()
	params := reconnectParams{
		Channel: rootChannel, ClientID: l.c.opt.clientID, LastSeenServerSeq: seq, Subscriptions: subscriptions,
		Meta: map[string]string{resumeTokenKey: before.hello.resumeToken},
	}
	_, err := l.request(ctx, "reconnect", params, func(raw []byte) error {
		r, err := l.accept(raw)
		if err != nil {
			return err
		}
		l.c.setLink(l) // first, so that who learns of a service from the catalogue can call it
		return l.c.cat.resumed(l, r)
	})
	return err
}

// accept takes over what the relay says of itself. It runs on the reader.
func (l *link) accept(raw []byte) (*helloResult, error) {
	r := &helloResult{}
	if err := decodeObject(raw, r, "the handshake's result"); err != nil {
		return nil, err
	}
	if r.ClientServices == nil {
		return nil, ErrNotSupported
	}
	if r.ServerInfo != nil {
		l.hello.server = *r.ServerInfo
	}
	if r.ProtocolVersion != "" {
		l.hello.server.ProtocolVersion = r.ProtocolVersion
	}
	if r.DefaultDirectory != "" {
		l.hello.server.DefaultDirectory = r.DefaultDirectory
	}
	if token, ok := codec.Unquote(nil, r.Meta[resumeTokenKey]); ok {
		l.hello.resumeToken = string(token)
	}
	if len(r.ClientServices.Limits) > 0 {
		if err := decodeObject(r.ClientServices.Limits, &l.hello.limits, "clientServices.limits"); err != nil {
			return nil, err
		}
	}
	l.hello.limits.All = append(json.RawMessage(nil), r.ClientServices.Limits...)
	limits := &l.hello.limits
	bound := max(limits.DeliveredBytes, limits.SnapshotBytes)
	if bound <= 0 {
		bound = snapshotBytes
	}
	l.setLimit(min(max(bound, handshakeBytes), l.c.opt.frameBytes))
	return r, nil
}
