package relay

import "encoding/json"

// mirror is one client, connected or away.
type mirror struct {
	clientID   string
	uid        int
	e          *end // nil while it is away
	token      string
	subscribed bool
	stalled    bool
	seq        uint64 // the latest number that it has seen
	services   map[string]string
	calls      map[string]bool // ids of its requests that are not answered
	tasks      []string        // relay ids that it may answer
	pending    map[string]func(message)
}

func (c *mirror) String() string { return c.clientID }

type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Action    actionText
		ServerSeq uint64
		ID        json.RawMessage
		Reason    string
	}
	Result json.RawMessage
	Error  *struct{ Code int }
}

type actionText struct {
	Type      string
	Service   json.RawMessage
	ServiceID string
}

type snapshotText struct {
	Resource string
	State    struct{ Services []json.RawMessage }
	FromSeq  uint64
}

type handshakeText struct {
	Type      string
	ServerSeq uint64
	Snapshots []snapshotText
	Actions   []struct {
		Action    actionText
		ServerSeq uint64
	}
	Meta map[string]string `json:"_meta"`
}

func idOf(object json.RawMessage) string {
	var s struct{ ServiceID string }
	_ = json.Unmarshal(object, &s)
	return s.ServiceID
}

func (c *mirror) restore(s snapshotText) {
	c.seq = max(c.seq, s.FromSeq)
	if s.Resource == "ahp-client-services://" {
		c.seq = s.FromSeq
		c.services = map[string]string{}
		for _, object := range s.State.Services {
			c.services[idOf(object)] = string(object)
		}
	}
}
