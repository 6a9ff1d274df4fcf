package client

// Lookup returns the newest state of one service, which Events may not have reached yet. What the relay sent
// before the message that is being handled is always in it: a handler can check by it whom an id belongs to.
func (w *Catalog) Lookup(serviceID string) (ServiceInfo, bool) {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	e := w.m.services[serviceID]
	if e == nil {
		return ServiceInfo{}, false
	}
	return e.info, true
}
