package client

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
)

// depthMax bounds the nesting of what is received and of raw JSON that is sent; the relay's own bound
// is 128 unless configured otherwise.
const depthMax = 1024

// The pieces of the outgoing messages between the values.
const (
	requestHead  = `{"jsonrpc":"2.0","id":`
	methodKey    = `,"method":"`
	paramsKey    = `","params":`
	notifyHead   = `{"jsonrpc":"2.0","method":"clientService/notify","params":{"channel":"` + codec.ChannelServices + `","serviceId":`
	callHead     = `,"method":"clientService/request","params":{"channel":"` + codec.ChannelServices + `","serviceId":`
	nameKey      = `,"method":`
	payloadKey   = `,"params":`
	timeoutKey   = `,"timeoutMs":`
	messageEnd   = "}\n"
	callEnd      = "}}\n"
	cancelHead   = `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"channel":"` + codec.ChannelServices + `","id":`
	envelopeSlop = 256 // more than the constant parts of any of these messages
)

// encodeJSON returns v as one line of JSON; nil becomes nil. Raw JSON passes through unchanged, except
// that line feeds between its tokens become spaces, since a line feed ends the frame.
func encodeJSON(v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return rawJSON(v)
	case *json.RawMessage:
		if v == nil {
			return nil, nil
		}
		return rawJSON(*v)
	}
	out, err := json.MarshalWithOption(v, json.DisableHTMLEscape())
	if err != nil {
		return nil, fmt.Errorf("client: encoding JSON: %w", err)
	}
	return rawJSON(out) // a Marshaler may return anything
}

func rawJSON(raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var m codec.Message
	if !codec.Parse(raw, depthMax, &m) {
		return nil, fmt.Errorf("client: encoding JSON: the raw value is not valid JSON, or nests deeper than %d", depthMax)
	}
	if bytes.IndexByte(raw, '\n') >= 0 {
		raw = bytes.ReplaceAll(raw, []byte{'\n'}, []byte{' '})
	}
	return raw, nil
}

// appendRequest appends a request of the relay's own methods.
func appendRequest(dst []byte, id uint64, method string, params []byte) []byte {
	dst = append(dst, requestHead...)
	dst = strconv.AppendUint(dst, id, 10)
	dst = append(dst, methodKey...)
	dst = append(dst, method...)
	dst = append(dst, paramsKey...)
	dst = append(dst, params...)
	return append(dst, messageEnd...)
}

// appendCall appends a clientService/request; timeoutMs 0 and nil params are left out.
func appendCall(dst []byte, id uint64, serviceID, method string, params []byte, timeoutMs int64) []byte {
	dst = append(dst, requestHead...)
	dst = strconv.AppendUint(dst, id, 10)
	dst = append(dst, callHead...)
	dst = appendTarget(dst, serviceID, method, params)
	if timeoutMs > 0 {
		dst = append(dst, timeoutKey...)
		dst = strconv.AppendInt(dst, timeoutMs, 10)
	}
	return append(dst, callEnd...)
}

// appendNotify appends a clientService/notify; nil params are left out.
func appendNotify(dst []byte, serviceID, method string, params []byte) []byte {
	dst = append(dst, notifyHead...)
	dst = appendTarget(dst, serviceID, method, params)
	return append(dst, callEnd...)
}

func appendTarget(dst []byte, serviceID, method string, params []byte) []byte {
	dst = codec.AppendQuoted(dst, serviceID)
	dst = append(dst, nameKey...)
	dst = codec.AppendQuoted(dst, method)
	if params != nil {
		dst = append(dst, payloadKey...)
		dst = append(dst, params...)
	}
	return dst
}

// appendCancel appends the cancellation of the request with this id.
func appendCancel(dst []byte, id uint64) []byte {
	dst = append(dst, cancelHead...)
	dst = strconv.AppendUint(dst, id, 10)
	return append(dst, callEnd...)
}
