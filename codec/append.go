package codec

import "strconv"

// The channels of the contract.
const (
	ChannelRoot     = "ahp-root://"
	ChannelServices = "ahp-client-services://"
)

// The pieces of the outgoing envelopes between the values. EnvelopeBytesMax adds them up.
const (
	notificationHead = `{"jsonrpc":"2.0","method":"clientService/notification","params":{"channel":"` + ChannelServices + `","serviceId":"`
	handleHead       = `{"jsonrpc":"2.0","id":`
	handleMethod     = `,"method":"clientService/handleRequest","params":{"channel":"` + ChannelServices + `","serviceId":"`
	senderKey        = `","senderClientId":`
	principalKey     = `,"senderPrincipal":`
	methodKey        = `,"method":`
	paramsKey        = `,"params":`
	timeoutKey       = `,"timeoutMs":`
	paramsEnd        = "}}\n"
	answerHead       = `{"jsonrpc":"2.0","id":`
	resultKey        = `,"result":`
	errorKey         = `,"error":`
	cancelHead       = `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"channel":"` + ChannelServices + `","id":`
	actionHead       = `{"jsonrpc":"2.0","method":"action","params":{"channel":"` + ChannelServices + `","action":{"type":"clientService/`
	actionEnd        = `},"serverSeq":`
	droppedHead      = `{"jsonrpc":"2.0","method":"x-relay/dropped","params":{"channel":"` + ChannelServices + `","serviceId":"`
	closingHead      = `{"jsonrpc":"2.0","method":"x-relay/closing","params":{"channel":"` + ChannelRoot + `","reason":`
	authHead         = `{"jsonrpc":"2.0","method":"auth/required","params":{"channel":"` + ChannelRoot + `","resource":`
	null             = "null"
)

// ServiceIDBytesMax is the longest service id of the contract.
const ServiceIDBytesMax = 64

// digitsMax is the longest decimal spelling of an int64 or uint64.
const digitsMax = 20

// EnvelopeBytesMax is how many bytes, LF excluded, an outgoing clientService/notification or
// clientService/handleRequest has at most besides sender, principal, method and params.
const EnvelopeBytesMax = len(handleHead) + digitsMax + len(handleMethod) + ServiceIDBytesMax + len(senderKey) +
	len(principalKey) + len(methodKey) + len(paramsKey) + len(null) + len(timeoutKey) + digitsMax + len(paramsEnd) - 1

// The functions below append one outgoing line with its LF to dst, which they return extended. Raw
// parameters are valid JSON and are copied byte for byte; service ids are of [A-Za-z0-9_-] and copied
// between quotes. They allocate only to grow dst.

// NotificationIDOffset is where the service id stands in a line that AppendNotification appends.
const NotificationIDOffset = len(notificationHead)

// AppendNotification appends a clientService/notification. sender is the client id and principal its
// principal's name, both as JSON strings; a nil principal is left out. Nil params become null.
func AppendNotification[ID string | []byte](dst []byte, serviceID ID, sender, principal, method, params []byte) []byte {
	dst = append(dst, notificationHead...)
	dst = appendSender(dst, serviceID, sender, principal)
	dst = appendCall(dst, method, params)
	return append(dst, paramsEnd...)
}

// AppendHandleRequest appends a clientService/handleRequest under the relay's id; otherwise it is like
// AppendNotification. timeoutMs is the time left, in milliseconds.
func AppendHandleRequest[ID string | []byte](dst []byte, relayID uint64, serviceID ID, sender, principal, method, params []byte, timeoutMs int64) []byte {
	dst = append(dst, handleHead...)
	dst = strconv.AppendUint(dst, relayID, 10)
	dst = append(dst, handleMethod...)
	dst = appendSender(dst, serviceID, sender, principal)
	dst = appendCall(dst, method, params)
	dst = append(dst, timeoutKey...)
	dst = strconv.AppendInt(dst, timeoutMs, 10)
	return append(dst, paramsEnd...)
}

func appendSender[ID string | []byte](dst []byte, serviceID ID, sender, principal []byte) []byte {
	dst = append(dst, serviceID...)
	dst = append(dst, senderKey...)
	dst = append(dst, sender...)
	if principal != nil {
		dst = append(dst, principalKey...)
		dst = append(dst, principal...)
	}
	return dst
}

func appendCall(dst, method, params []byte) []byte {
	dst = append(dst, methodKey...)
	dst = append(dst, method...)
	dst = append(dst, paramsKey...)
	return appendRaw(dst, params)
}

// appendRaw appends raw, null for nil.
func appendRaw(dst, raw []byte) []byte {
	if raw == nil {
		return append(dst, null...)
	}
	return append(dst, raw...)
}

// AppendResult appends the answer to the request id. A nil result becomes null.
func AppendResult(dst, id, result []byte) []byte {
	dst = append(dst, answerHead...)
	dst = append(dst, id...)
	dst = append(dst, resultKey...)
	dst = appendRaw(dst, result)
	return append(dst, "}\n"...)
}

// AppendError appends an error answer. A nil id becomes null, nil data is left out.
func AppendError(dst, id []byte, code Code, message string, data []byte) []byte {
	dst = append(dst, answerHead...)
	dst = appendRaw(dst, id)
	dst = append(dst, errorKey+`{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = append(dst, `,"message":`...)
	dst = AppendQuoted(dst, message)
	if data != nil {
		dst = append(dst, `,"data":`...)
		dst = append(dst, data...)
	}
	return append(dst, paramsEnd...)
}

// AppendErrorRaw appends an error answer with the raw error object as it is. A nil id becomes null.
func AppendErrorRaw(dst, id, errorObject []byte) []byte {
	dst = append(dst, answerHead...)
	dst = appendRaw(dst, id)
	dst = append(dst, errorKey...)
	dst = append(dst, errorObject...)
	return append(dst, "}\n"...)
}

// AppendCancel appends the $/cancelRequest that tells an owner that the relay's request is off.
func AppendCancel(dst []byte, relayID uint64) []byte {
	dst = append(dst, cancelHead...)
	dst = strconv.AppendUint(dst, relayID, 10)
	return append(dst, paramsEnd...)
}

// AppendServiceObject appends a ClientService object, not a line: no LF. client is the client id as a
// JSON string.
func AppendServiceObject(dst []byte, serviceID string, client, metadata []byte) []byte {
	dst = append(dst, `{"serviceId":"`...)
	dst = append(dst, serviceID...)
	dst = append(dst, `","clientId":`...)
	dst = append(dst, client...)
	dst = append(dst, `,"metadata":`...)
	dst = append(dst, metadata...)
	return append(dst, '}')
}

// AppendActionSet appends the action that adds or replaces the ClientService object.
func AppendActionSet(dst, object []byte, seq uint64) []byte {
	dst = append(dst, actionHead+`set","service":`...)
	dst = append(dst, object...)
	return appendSeq(dst, seq)
}

// AppendActionRemoved appends the action that removes a service.
func AppendActionRemoved(dst []byte, serviceID string, seq uint64) []byte {
	dst = append(dst, actionHead+`removed","serviceId":"`...)
	dst = append(dst, serviceID...)
	dst = append(dst, '"')
	return appendSeq(dst, seq)
}

func appendSeq(dst []byte, seq uint64) []byte {
	dst = append(dst, actionEnd...)
	dst = strconv.AppendUint(dst, seq, 10)
	return append(dst, paramsEnd...)
}

// AppendDropped appends the x-relay/dropped that tells an owner how many notifications for a service it
// has lost.
func AppendDropped(dst []byte, serviceID string, count uint64) []byte {
	dst = append(dst, droppedHead...)
	dst = append(dst, serviceID...)
	dst = append(dst, `","count":`...)
	dst = strconv.AppendUint(dst, count, 10)
	return append(dst, paramsEnd...)
}

// AppendClosing appends the x-relay/closing that says why the connection ends.
func AppendClosing(dst []byte, reason, message string) []byte {
	return append(appendClosing(dst, reason, message), paramsEnd...)
}

// AppendShutdown appends an x-relay/closing that also says how many milliseconds requests in flight
// have left and after how many to reconnect.
func AppendShutdown(dst []byte, reason, message string, graceMs, reconnectAfterMs int64) []byte {
	dst = appendClosing(dst, reason, message)
	dst = append(dst, `,"graceMs":`...)
	dst = strconv.AppendInt(dst, graceMs, 10)
	dst = append(dst, `,"reconnectAfterMs":`...)
	dst = strconv.AppendInt(dst, reconnectAfterMs, 10)
	return append(dst, paramsEnd...)
}

func appendClosing(dst []byte, reason, message string) []byte {
	dst = append(dst, closingHead...)
	dst = AppendQuoted(dst, reason)
	dst = append(dst, `,"message":`...)
	return AppendQuoted(dst, message)
}

// AppendAuthRequired appends AHP's auth/required notification.
func AppendAuthRequired(dst []byte, resource, reason string) []byte {
	dst = append(dst, authHead...)
	dst = AppendQuoted(dst, resource)
	dst = append(dst, `,"reason":`...)
	dst = AppendQuoted(dst, reason)
	return append(dst, paramsEnd...)
}
