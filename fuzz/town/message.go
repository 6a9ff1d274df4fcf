package town

import (
	"encoding/json"
	"strconv"
	"strings"
)

// message is any line from the relay, as far as a client looks.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ServiceID, SenderClientID, Reason string
		Params                            json.RawMessage
		ID                                json.RawMessage
		Count                             int
		ServerSeq                         uint64
		Action                            action
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *failure        `json:"error"`
}

type action struct {
	Type, ServiceID string
	Service         *entry
}

type entry struct {
	ServiceID, ClientID string
	Metadata            json.RawMessage
}

type failure struct {
	Code int
	Data struct{ Delivered, Limit string }
}

// handshake is the result of initialize or reconnect.
type handshake struct {
	Type      string
	Snapshots []snapshot
	Actions   []struct {
		Action    action
		ServerSeq uint64
	}
	Meta map[string]any `json:"_meta"`
}

type snapshot struct {
	Resource string
	State    struct{ Services []entry }
	FromSeq  uint64
}

// payload is what the n-th message of a connection to a service carries.
func payload(number int64, service string, n int) string {
	return `{"from":` + strconv.FormatInt(number, 10) + `,"to":"` + service + `","n":` + strconv.Itoa(n) + `}`
}

// parsePayload reads a payload.
func parsePayload(text string) (from int64, to string, n int, err error) {
	var p struct {
		From int64
		To   string
		N    int
	}
	if strings.HasPrefix(text, `{"from":`) { // the quick way
		rest := text[len(`{"from":`):]
		number, rest, _ := strings.Cut(rest, `,"to":"`)
		p.To, rest, _ = strings.Cut(rest, `","n":`)
		p.From, err = strconv.ParseInt(number, 10, 64)
		if err == nil {
			p.N, err = strconv.Atoi(strings.TrimSuffix(rest, "}"))
		}
		return p.From, p.To, p.N, err
	}
	err = json.Unmarshal([]byte(text), &p)
	return p.From, p.To, p.N, err
}
