package admin

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-json"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/ahprelay/ahprelay/relay"
)

const (
	limitDefault = 1000
	limitMax     = 100_000
)

// query is what a route with items may be asked for: ?q= text that an item must contain, ?sort= a
// number, largest first, ?limit= items.
type query struct {
	words []string
	sort  string
	limit int
}

// parseQuery reads a query; sorts are the values that ?sort= may have.
func parseQuery(values url.Values, sorts []string) (query, error) {
	q := query{words: strings.Fields(strings.ToLower(values.Get("q"))), sort: values.Get("sort"), limit: limitDefault}
	for name := range values {
		if name != "q" && name != "sort" && name != "limit" {
			return q, fmt.Errorf("unknown parameter %q, must be q, sort or limit", name)
		}
	}
	if q.sort != "" && !slices.Contains(sorts, q.sort) {
		return q, fmt.Errorf("sort: %q, must be one of %s", q.sort, strings.Join(sorts, ", "))
	}
	if text := values.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > limitMax {
			return q, fmt.Errorf("limit: %q, must be 0 to %d", text, limitMax)
		}
		q.limit = n
	}
	return q, nil
}

// matches reports whether each word is in one of the texts.
func (q *query) matches(texts ...string) bool {
	for _, word := range q.words {
		if !slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(strings.ToLower(t), word) }) {
			return false
		}
	}
	return true
}

// order is a way to sort entries: largest first.
type order[E any] struct {
	name string
	by   func(a, b *E) int
}

func names[E any](orders []order[E]) []string {
	all := make([]string, len(orders))
	for i, o := range orders {
		all[i] = o.name
	}
	return all
}

func largest[E any, V cmp.Ordered](name string, of func(*E) V) order[E] {
	return order[E]{name, func(a, b *E) int { return cmp.Compare(of(b), of(a)) }}
}

// view is how the entries of one table become the items of a route.
type view[E, I any] struct {
	entries *cache[[]E]
	orders  []order[E] // the first is the default; empty: as read
	texts   func(*E) []string
	item    func(*reading[[]E], *E) I
}

// list answers q.
func (v *view[E, I]) list(q query) (*List[I], error) {
	r, err := v.entries.get()
	if err != nil {
		return nil, err
	}
	matched := make([]*E, 0, len(r.value))
	for i := range r.value {
		if e := &r.value[i]; len(q.words) == 0 || q.matches(v.texts(e)...) {
			matched = append(matched, e)
		}
	}
	for i, o := range v.orders {
		if o.name == q.sort || q.sort == "" && i == 0 {
			slices.SortStableFunc(matched, o.by)
		}
	}
	l := &List[I]{Time: r.at, Total: len(r.value), Matched: len(matched), Items: []I{}}
	for _, e := range matched[:min(q.limit, len(matched))] {
		l.Items = append(l.Items, v.item(&r, e))
	}
	return l, nil
}

func (s *source) connectionView() *view[relay.ConnectionInfo, Connection] {
	type info = relay.ConnectionInfo
	return &view[info, Connection]{
		entries: &s.connections,
		orders: []order[info]{
			largest("queueBytes", func(c *info) int { return c.QueueBytes }),
			largest("framesIn", func(c *info) uint64 { return c.FramesIn }),
			largest("bytesOut", func(c *info) uint64 { return c.BytesOut }),
			largest("services", func(c *info) int { return c.Services }),
			largest("inflight", func(c *info) int { return c.Inflight }),
			{"ageSeconds", func(a, b *info) int { return cmp.Compare(a.Since, b.Since) }},
			{"idleSeconds", func(a, b *info) int { return cmp.Compare(a.Received, b.Received) }},
		},
		texts: func(c *info) []string {
			return []string{c.ClientID, c.ClientName, c.Principal, c.Remote, c.Transport, c.State}
		},
		item: func(r *reading[[]info], c *info) Connection {
			return Connection{
				ID: fmt.Sprintf("%d.%d", uint32(c.ID), c.ID>>32), State: c.State, ClientID: c.ClientID, ClientName: c.ClientName,
				ClientVersion: c.ClientVersion, Principal: c.Principal, Transport: c.Transport, Remote: c.Remote, Protocol: c.Version,
				AgeSeconds: seconds(r.age(c.Since)), IdleSeconds: seconds(r.age(c.Received)), FramesIn: c.FramesIn, BytesOut: c.BytesOut,
				Services: c.Services, Inflight: c.Inflight, Observer: c.Observer, QueueBytes: c.QueueBytes, TailBytes: c.TailBytes,
				CatalogBytes: c.CatalogBytes, Blocked: c.Blocked, Shedding: c.Shedding,
			}
		},
	}
}

func (s *source) serviceView() *view[relay.ServiceInfo, Service] {
	type info = relay.ServiceInfo
	return &view[info, Service]{
		entries: &s.services,
		orders: []order[info]{
			largest("forwarded", func(i *info) uint64 { return i.Forwards }),
			largest("inflight", func(i *info) int { return i.Inflight }),
			largest("dropped", func(i *info) uint64 { return i.Dropped }),
		},
		texts: func(i *info) []string { return []string{string(i.Object)} },
		item: func(_ *reading[[]info], i *info) Service {
			return Service{ServiceID: i.ID, ClientID: i.Owner, Protocol: i.Protocol, Metadata: metadata(i.Object), Inflight: i.Inflight, Forwarded: i.Forwards, Dropped: i.Dropped}
		},
	}
}

// metadata is the raw metadata of an encoded ClientService object.
func metadata(object []byte) json.RawMessage {
	for it := codec.ObjectMembers(object); ; {
		name, value, ok := it.Next()
		if !ok {
			return json.RawMessage("null")
		}
		if codec.EqualString(name, "metadata") {
			return json.RawMessage(value)
		}
	}
}

func (s *source) requestView() *view[relay.RequestInfo, Request] {
	type info = relay.RequestInfo
	return &view[info, Request]{
		entries: &s.requests,
		orders:  []order[info]{{"ageSeconds", func(a, b *info) int { return cmp.Compare(a.Started, b.Started) }}},
		texts:   func(i *info) []string { return []string{i.Caller, i.Service, i.Owner, i.Protocol, i.ID} },
		item: func(r *reading[[]info], i *info) Request {
			return Request{RelayID: i.RelayID, ID: i.ID, Caller: i.Caller, Service: i.Service, Owner: i.Owner, Protocol: i.Protocol,
				AgeSeconds: seconds(r.age(i.Started)), Abandoned: i.Abandoned}
		},
	}
}

func (s *source) closingView() *view[relay.Note, Closing] {
	type info = relay.Note
	return &view[info, Closing]{
		entries: &s.notes,
		texts: func(n *info) []string {
			return []string{n.Word, n.Detail, n.Remote, n.ClientID, n.Principal, noteKind(n)}
		},
		item: func(r *reading[[]info], n *info) Closing {
			return Closing{Number: n.Number, Time: r.wall(n.At).Round(time.Millisecond), Kind: noteKind(n), Reason: n.Word, Detail: n.Detail, Remote: n.Remote,
				ClientID: n.ClientID, Principal: n.Principal, QueueBytes: n.Queue}
		},
	}
}

func noteKind(n *relay.Note) string {
	if n.Kind == relay.NoteClosed {
		return "closed"
	}
	return "limit"
}
