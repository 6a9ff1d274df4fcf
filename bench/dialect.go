//go:build linux

package bench

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/goccy/go-json"
)

// AHP is the relay's own wire format.
type AHP struct{}

const (
	channel    = `"channel":"ahp-client-services://"`
	methodName = "bench/tick"
)

// Join introduces m, subscribes it when it observes, and registers its services.
func (AHP) Join(m *Member, addr string) error {
	conn, err := Dial(addr)
	if err != nil {
		return err
	}
	m.Tx, m.Rx = conn, conn
	if _, err := introduce(conn, m); err != nil {
		return err
	}
	// Registrations go out together: 60,000 round trips would take longer than the run.
	for at := 0; at < len(m.Services); at += registerBatch {
		if err := register(conn, m.Services[at:min(at+registerBatch, len(m.Services))]); err != nil {
			return err
		}
	}
	return nil
}

// introduce makes the handshake.
func introduce(conn *Conn, m *Member) (result, error) {
	subscribe := ""
	if m.Observes {
		subscribe = `,"initialSubscriptions":["ahp-client-services://"]`
	}
	return ask(conn, 1, "initialize", fmt.Sprintf(
		`{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":%q,"clientInfo":{"name":"ahprelay bench","version":"1"}%s}`,
		m.Name, subscribe))
}

const registerBatch = 256

func register(conn *Conn, services []*Service) error {
	var text []byte
	for _, s := range services {
		text = append(text, `{"jsonrpc":"2.0","id":`...)
		text = strconv.AppendInt(text, int64(s.Index), 10)
		text = append(text, `,"method":"client/registerService","params":{`+channel+`,"metadata":{"protocol":"bench"}}}`+"\n"...)
	}
	if err := conn.Say(string(text)); err != nil {
		return err
	}
	for _, s := range services {
		line, err := conn.Line()
		if err != nil {
			return err
		}
		result, err := readResult(line, s.Index)
		if err != nil {
			return fmt.Errorf("registering a service: %w", err)
		}
		if s.ID = result.ServiceID; s.ID == "" {
			return fmt.Errorf("registering a service: no serviceId in %s", line)
		}
	}
	return nil
}

// result is what a run reads of an answer.
type result struct {
	ServiceID string `json:"serviceId"`
	Snapshots []struct {
		FromSeq uint64 `json:"fromSeq"`
	} `json:"snapshots"`
}

// ask makes one request and waits for its answer.
func ask(conn *Conn, id int, method, params string) (result, error) {
	if err := conn.Say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)); err != nil {
		return result{}, err
	}
	line, err := conn.Line()
	if err != nil {
		return result{}, err
	}
	r, err := readResult(line, id)
	if err != nil {
		return result{}, fmt.Errorf("%s: %w", method, err)
	}
	return r, nil
}

func readResult(line string, id int) (result, error) {
	var answer struct {
		ID     *int            `json:"id"`
		Result *result         `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal([]byte(line), &answer); err != nil {
		return result{}, fmt.Errorf("reading %q: %w", line, err)
	}
	if answer.Error != nil {
		return result{}, fmt.Errorf("the relay answered %s", answer.Error)
	}
	if answer.ID == nil || *answer.ID != id || answer.Result == nil {
		return result{}, fmt.Errorf("not the answer to request %d: %s", id, line)
	}
	return *answer.Result, nil
}

// Notify appends a clientService/notify.
func (AHP) Notify(dst []byte, _ *Member, to *Service, body []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"clientService/notify","params":{`+channel+`,"serviceId":"`...)
	dst = append(dst, to.ID...)
	dst = append(dst, `","method":"`+methodName+`","params":`...)
	dst = append(dst, body...)
	return append(dst, "}}\n"...)
}

// Notification appends the clientService/notification that comes of it.
func (AHP) Notification(dst []byte, from *Member, to *Service, body []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"clientService/notification","params":{`+channel+`,"serviceId":"`...)
	dst = append(dst, to.ID...)
	dst = append(dst, `","senderClientId":"`...)
	dst = append(dst, from.Name...)
	dst = append(dst, `","method":"`+methodName+`","params":`...)
	dst = append(dst, body...)
	return append(dst, "}}\n"...)
}

// Call appends a clientService/request with place as its id.
func (AHP) Call(dst []byte, _ *Member, to *Service, place int, body []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = strconv.AppendInt(dst, int64(place), 10)
	dst = append(dst, `,"method":"clientService/request","params":{`+channel+`,"serviceId":"`...)
	dst = append(dst, to.ID...)
	dst = append(dst, `","method":"`+methodName+`","params":`...)
	dst = append(dst, body...)
	return append(dst, "}}\n"...)
}

// Handle returns the clientService/handleRequest around its id and the time left.
func (AHP) Handle(from *Member, to *Service, _ int, body []byte) [][]byte {
	middle := `,"method":"clientService/handleRequest","params":{` + channel + `,"serviceId":"` + to.ID +
		`","senderClientId":"` + from.Name + `","method":"` + methodName + `","params":` + string(body) + `,"timeoutMs":`
	return [][]byte{[]byte(`{"jsonrpc":"2.0","id":`), []byte(middle), []byte("}}\n")}
}

// Reply returns the answer around the id of Handle.
func (AHP) Reply(_ *Member, _ *Service, _ int, body []byte) [][]byte {
	return [][]byte{[]byte(`{"jsonrpc":"2.0","id":`), []byte(`,"result":` + string(body) + "}\n")}
}

// Answer appends what the caller gets.
func (AHP) Answer(dst []byte, _ *Member, _ *Service, place int, body []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = strconv.AppendInt(dst, int64(place), 10)
	dst = append(dst, `,"result":`...)
	dst = append(dst, body...)
	return append(dst, "}\n"...)
}

// Receipt is nil: a notification never causes anything to be sent back.
func (AHP) Receipt() []byte { return nil }

// Control knows x-relay/dropped and x-relay/closing, and errors.
func (AHP) Control(frame []byte) (n, skip int, err error) {
	end := bytes.IndexByte(frame, '\n')
	if end < 0 {
		const own = `{"jsonrpc":"2.0",`
		if same := commonLen(frame, []byte(own)); same < len(frame) && same < len(own) {
			return -1, 0, nil
		}
		return 0, 0, nil
	}
	var said struct {
		Method string          `json:"method"`
		Error  json.RawMessage `json:"error"`
		Params struct {
			Count   int    `json:"count"`
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"params"`
	}
	if err := json.Unmarshal(frame[:end], &said); err != nil {
		return -1, 0, nil // not the relay's: the caller says what was due instead
	}
	switch {
	case said.Method == "x-relay/dropped":
		return end + 1, said.Params.Count, nil
	case said.Method == "x-relay/closing":
		return 0, 0, fmt.Errorf("the relay closes the connection: %s, %s", said.Params.Reason, said.Params.Message)
	case said.Error != nil:
		return 0, 0, fmt.Errorf("the relay answered %s", frame[:end])
	}
	return -1, 0, nil
}
