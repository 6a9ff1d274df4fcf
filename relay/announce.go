package relay

import (
	"strconv"

	"github.com/ahprelay/ahprelay/codec"
)

// bound is one member of clientServices.limits: a limit that a client can run into, or what it must be
// ready to receive, with the unit last. The same words stand in data.limit.
type bound struct {
	name  string
	value int64
}

// appendTo appends the limits as an object, and the quotas of the client's principal where it has some.
func (l *Limits) appendTo(b []byte, u *usage) []byte {
	delivered := l.FrameBytesMax + codec.EnvelopeBytesMax + 6*l.ClientIDBytesMax + principalBytesMax
	b = append(b, '{')
	for _, m := range []bound{
		{"frameBytes", int64(l.FrameBytesMax)},
		{"handshakeFrameBytes", int64(min(l.FrameBytesMax, handshakeFrameBytesMax))},
		{"depth", int64(l.DepthMax)},
		{"idBytes", int64(l.IDBytesMax)},
		{"clientIdBytes", int64(l.ClientIDBytesMax)},
		{"methodBytes", int64(l.MethodBytesMax)},
		{"metadataBytes", int64(l.MetadataBytesMax)},
		{"metadataDepth", metadataDepthMax},
		{"protocolErrors", int64(l.ProtocolErrorsMax)},
		{"connections", int64(l.ConnectionsMax)},
		{"services", int64(l.ServicesMax)},
		{"servicesPerConnection", int64(l.ServicesPerConnectionMax)},
		{"catalogBytes", int64(l.CatalogBytesMax)},
		{"subscriptionsPerConnection", int64(l.SubscriptionsPerConnectionMax)},
		{"catalogChangesPerSecond", int64(l.CatalogChangesPerSecondMax)},
		{"catalogChangesBurst", CatalogChangesBurst},
		{"slots", int64(l.SlotsMax)},
		{"inflightPerConnection", int64(l.InflightPerConnectionMax)},
		{"inflightPerService", int64(l.InflightPerServiceMax)},
		{"requestTimeoutMs", l.RequestTimeout.Milliseconds()},
		{"requestTimeoutMaxMs", l.RequestTimeoutMax.Milliseconds()},
		{"handshakeTimeoutMs", l.HandshakeTimeout.Milliseconds()},
		{"idleTimeoutMs", l.IdleTimeout.Milliseconds()},
		{"stallTimeoutMs", l.StallTimeout.Milliseconds()},
		{"queueSoftBytes", int64(l.QueueBytesSoft)},
		{"queueHardBytes", int64(l.QueueBytesHard)},
		{"deliveredBytes", int64(delivered)},
		{"snapshotBytes", int64(l.CatalogBytesMax + l.ServicesMax + handshakeBytesMax)},
	} {
		b = m.appendTo(b)
	}
	for _, m := range []bound{
		{"connectionsPerPrincipal", int64(u.connections.Max)},
		{"servicesPerPrincipal", int64(u.services.Max)},
		{"inflightPerPrincipal", int64(u.inflight.Max)},
		{"principalCatalogBytes", int64(u.catalogBytes.Max)},
	} {
		if m.value > 0 {
			b = m.appendTo(b)
		}
	}
	b[len(b)-1] = '}'
	return b
}

func (m bound) appendTo(b []byte) []byte {
	b = append(append(append(b, '"'), m.name...), `":`...)
	return append(strconv.AppendInt(b, m.value, 10), ',')
}
