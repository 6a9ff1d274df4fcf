package relay

import "strings"

// naiveGlob is the definition of a glob, character by character.
func naiveGlob(pattern, s []rune) bool {
	if len(pattern) == 0 {
		return len(s) == 0
	}
	if pattern[0] == '*' {
		return naiveGlob(pattern[1:], s) || len(s) > 0 && naiveGlob(pattern, s[1:])
	}
	return len(s) > 0 && (pattern[0] == '?' || pattern[0] == s[0]) && naiveGlob(pattern[1:], s[1:])
}

// naiveMatch evaluates globs over protocol or, with a slash, owner/protocol as section 7 of the contract
// says.
func naiveMatch(list []string, owner, protocol string, has bool) bool {
	for _, g := range list {
		if g == "*" {
			return true
		}
		if !has {
			continue
		}
		text := protocol
		if owner != "" && strings.Contains(g, "/") {
			text = owner + "/" + protocol
		}
		if naiveGlob([]rune(g), []rune(text)) {
			return true
		}
	}
	return false
}

// naivePrincipals is the configuration's list of principals with "anonymous" made explicit: without
// rights where one has to authenticate first.
func naivePrincipals(config *Config) []Principal {
	list := append([]Principal(nil), config.Principals...)
	at := -1
	for i := range list {
		if list[i].Name == anonymousName {
			at = i
		}
	}
	if at < 0 {
		at = len(list)
		list = append(list, Principal{Name: anonymousName})
		if at == 0 {
			all := []string{"*"}
			list[at].Register, list[at].Discover, list[at].Notify, list[at].Request = all, all, all, all
		}
	}
	if config.Auth.Required {
		list[at] = Principal{Name: anonymousName, Realm: list[at].Realm}
	}
	return list
}

func naiveRealm(p Principal) string {
	if p.Realm == "" {
		return "default"
	}
	return p.Realm
}

// naiveRights evaluates what viewer may do with a service of owner.
func naiveRights(owner, viewer Principal, protocol string, has bool) (rights uint8) {
	if naiveRealm(owner) != naiveRealm(viewer) {
		return 0
	}
	if naiveMatch(viewer.Discover, owner.Name, protocol, has) {
		rights |= rightDiscover
	}
	if naiveMatch(viewer.Notify, owner.Name, protocol, has) {
		rights |= rightNotify
	}
	if naiveMatch(viewer.Request, owner.Name, protocol, has) {
		rights |= rightRequest
	}
	return rights
}

// naiveRow is the rights row of a service, from the configuration in force.
func (c *Core) naiveRow(owner int32, protocol string, has bool) []uint8 {
	list := naivePrincipals(&c.config)
	row := make([]uint8, len(list))
	for i := range list {
		row[i] = naiveRights(list[owner], list[i], protocol, has)
	}
	return row
}
