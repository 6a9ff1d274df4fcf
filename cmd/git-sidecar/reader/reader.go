// Package reader is the service "git-object-reader", version 1: what git-sidecar answers, and the shapes of
// it for whoever asks. The relay sees none of this; it is the application's side of client services.
//
// Methods, as requests:
//
//	getRefs {repo, prefix?, after?} → {refs:[{name, oid, peeled?}], head:{ref?, oid?}, next?}
//
// The refs whose names begin with prefix and sort (bytewise) after after, as many as fit one frame; when next
// is there, more follow: ask again with after = next. peeled is what an annotated tag finally names. head is
// where HEAD points: ref is missing when it is detached, oid when its branch has no commit yet.
//
//	getObjects {repo, oids[], maxBytes?, ranges?} →
//	    {objects:[{oid, type, size, offset?, encoding, data}], missing:[oid…], truncated:[oid…]}
//
// oids are full lower-case hex. Every object that the repository has gets one entry, in the order asked, the
// others are in missing; an oid named twice counts once. size is that of the whole object. data is the
// object's bytes from offset (0 when absent) as text if they are valid UTF-8, encoding "utf-8", else in
// base64. ranges, an object {"<oid>":{"offset":N,"length":N}}, asks for a part of an object: offset 0 and all
// the rest if absent, cut to the object's end; such an entry repeats offset. maxBytes bounds the sum of the
// data, in bytes before encoding; 0 asks for types and sizes alone. When data ends before what was asked for,
// because of maxBytes, the relay's frameBytes or the reader's own bounds, the oid is in truncated too: ask
// for it again, with a range from where data ended. Small objects come first when not everything fits.
//
//	watchRefs {repo, serviceId} → {}      unwatchRefs {repo, serviceId} → {}
//
// From then on each change of refs or HEAD sends the notification refsChanged {repo} to that service, which
// must belong to the asking client, until unwatchRefs or the end of that service. What changed after the
// answer is announced; several changes may be announced once, and a notification can be lost in overload.
// Both are idempotent.
//
// Unknown members of params are ignored; null is not absent. Errors, all with data:
//
//	-32602  params are malformed              {member, problem}: member is a path such as "oids[3]"
//	-32601  no such method                    {method, methods}
//	-32008  no such repository                {repo, repos}
//	-32008  serviceId is not in the catalogue {serviceId}
//	-32009  serviceId is another client's     {serviceId}
//	-32020  too many subscriptions            {limit, max}: limit is "watchers" or "watchersPerClient"
//	-32603  git failed                        {repo}; the reason is in the sidecar's log only
//	-32800  the request's context ended       {repo}
//
// -32050 … -32053 are the relay's alone and never used here.
//
// A Reader owns no repository and no connection, only its subscriptions. Raw params alias the request and are
// not kept; answers are fresh slices.
package reader

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/repo"
)

// Protocol and Version are what the service's metadata says of it.
const (
	Protocol = "git-object-reader"
	Version  = 1
)

const (
	frameBytesDefault = 1 << 20 // of a relay that announces none
	envelopeBytes     = 512     // kept for the message around a result
	workMax           = 8       // requests that read a repository at the same time
)

// Metadata describes the service in the catalogue.
type Metadata struct {
	Protocol string   `json:"protocol"`
	Version  int      `json:"version"`
	Label    string   `json:"label"`
	Repos    []string `json:"repos"`
}

// Config is what a Reader works with.
type Config struct {
	Repos      []*repo.Repo
	FrameBytes func() int                                        // longest line that the relay takes; 0: unknown
	Notify     func(serviceID, method string, params any) error  // sends a notification to a service
	Lookup     func(serviceID string) (client.ServiceInfo, bool) // the newest state of a service in the catalogue
	Poll       time.Duration                                     // between two looks at watched refs
	Log        *slog.Logger
}

// Reader answers for a set of repositories.
type Reader struct {
	cfg      Config
	repos    map[string]*repo.Repo
	names    []string // sorted
	work     chan struct{}
	watchers *watchers
}

// New returns a Reader. Names of the repositories must differ.
func New(cfg Config) (*Reader, error) {
	r := &Reader{cfg: cfg, repos: make(map[string]*repo.Repo), work: make(chan struct{}, workMax)}
	for _, one := range cfg.Repos {
		if r.repos[one.Name()] != nil {
			return nil, fmt.Errorf("two repositories are named %s", one.Name())
		}
		r.repos[one.Name()] = one
		r.names = append(r.names, one.Name())
	}
	slices.Sort(r.names)
	r.watchers = newWatchers(cfg)
	return r, nil
}

// Metadata returns what to register the service with.
func (r *Reader) Metadata(label string) Metadata {
	return Metadata{Protocol: Protocol, Version: Version, Label: label, Repos: r.names}
}

// methods are what Handle answers, sorted.
var methods = []string{"getObjects", "getRefs", "unwatchRefs", "watchRefs"}

// Handle answers one request; it is a client.Handler.
func (r *Reader) Handle(ctx context.Context, request *client.Request) (any, error) {
	switch request.Method {
	case "getRefs":
		return r.getRefs(ctx, request.Params)
	case "getObjects":
		return r.getObjects(ctx, request.Params)
	case "watchRefs":
		return r.watchRefs(ctx, request.Sender, request.Params)
	case "unwatchRefs":
		return r.unwatchRefs(request.Sender, request.Params)
	}
	return nil, failure(codeMethodNotFound, "the methods are "+strings.Join(methods, ", "), data{Method: request.Method, Methods: methods})
}

// begin waits for a turn to read a repository; the caller must call end.
func (r *Reader) begin(ctx context.Context) error {
	select {
	case r.work <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *Reader) end() { <-r.work }

// room returns how many bytes a result may have.
func (r *Reader) room() int {
	frame := r.cfg.FrameBytes()
	if frame <= 0 {
		frame = frameBytesDefault
	}
	return max(frame-envelopeBytes, envelopeBytes)
}
