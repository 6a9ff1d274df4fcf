package admin

// Rates are what happened a second between two Stats.
type Rates struct {
	Seconds        float64 `json:"seconds"` // between the two
	FramesReceived float64 `json:"framesReceived"`
	FramesSent     float64 `json:"framesSent"`
	BytesIn        float64 `json:"bytesIn"`
	BytesOut       float64 `json:"bytesOut"`
	Notifications  float64 `json:"notifications"` // forwarded
	Dropped        float64 `json:"dropped"`
	Requests       float64 `json:"requests"` // forwarded
	Failed         float64 `json:"failed"`   // requests that were refused or ended without the owner's answer
	Opened         float64 `json:"opened"`
	Closed         float64 `json:"closed"` // by the relay
}

// RatesBetween compares two Stats of one relay; an earlier one of another process counts as none.
func RatesBetween(earlier, later *Stats) Rates {
	if earlier == nil || later.UptimeSeconds <= earlier.UptimeSeconds {
		return Rates{}
	}
	r := Rates{Seconds: later.UptimeSeconds - earlier.UptimeSeconds}
	per := func(of func(*Stats) uint64) float64 { return float64(of(later)-of(earlier)) / r.Seconds }
	r.FramesReceived = per(func(s *Stats) uint64 { return frameSum(s.Received) })
	r.FramesSent = per(func(s *Stats) uint64 { return frameSum(s.Sent) })
	r.BytesIn = per(func(s *Stats) uint64 { return s.BytesIn })
	r.BytesOut = per(func(s *Stats) uint64 { return s.BytesOut })
	r.Notifications = per(func(s *Stats) uint64 { return s.NotificationsForwarded })
	r.Dropped = per(func(s *Stats) uint64 { return sum(s.NotificationsDropped) })
	r.Requests = per(func(s *Stats) uint64 { return s.RequestsForwarded })
	r.Failed = per(failed)
	r.Opened = per(func(s *Stats) uint64 { return s.Opened })
	r.Closed = per(func(s *Stats) uint64 { return sum(s.Closed) })
	return r
}

func failed(s *Stats) uint64 {
	n := s.RequestsRefused
	for outcome, count := range s.RequestsCompleted {
		if outcome != "result" && outcome != "error" {
			n += count
		}
	}
	return n
}

func sum(counts map[string]uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}

func frameSum(kinds map[string]Traffic) (n uint64) {
	for _, t := range kinds {
		n += t.Frames
	}
	return n
}
