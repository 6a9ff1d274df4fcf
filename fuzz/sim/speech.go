package sim

import (
	"fmt"
	"strconv"
	"strings"
)

// speech makes up a line that a connection may send where it stands.
func (g *generator) speech(c *conn) string {
	if g.Pick(40) == 0 {
		return g.garbage()
	}
	id := g.id()
	if c.phase == phaseNew && g.Pick(20) > 0 {
		if g.Pick(4) == 0 && len(g.model.config.Principals) > 0 {
			return g.request(id, "authenticate", g.credentials())
		}
		return g.handshake(c, id)
	}
	what := weighted(g, speechWeights[g.theme])
	switch {
	case g.theme == themeResume && c.phase == phaseOpen && c == g.model.conns[0]:
		what = one(g, 0, 1, 1, 2) // it keeps the catalogue, in which the others come and go
	case g.theme == themeResume && what < 3 && g.Pick(3) > 0:
		what = 7
	case c.phase == phaseOpen && len(g.model.services) == 0 && g.Pick(2) == 0:
		what = 0
	case len(g.model.calls) > 0 && g.Pick(5) == 0:
		what = 5
	}
	switch what {
	case 0:
		metadata := g.metadata()
		if g.theme == themeResume && len(g.model.services) < 2 {
			metadata = fmt.Sprintf(`{"protocol":"p","pad":"{{x*%d}}"}`, min(3000, g.model.config.Limits.MetadataBytesMax-30))
		}
		return g.request(id, "client/registerService", g.params(`"metadata":`+metadata))
	case 1:
		return g.request(id, "client/updateService", g.params(`"serviceId":`+g.service(c, true), `"metadata":`+g.metadata()))
	case 2:
		return g.request(id, "client/unregisterService", g.params(`"serviceId":`+g.service(c, true)))
	case 3:
		return g.notification("clientService/notify", g.call(c))
	case 4:
		return g.request(id, "clientService/request", g.call(c))
	case 5:
		return g.answer(c)
	case 6:
		return g.notification("$/cancelRequest", g.params(`"id":`+g.pending(c)))
	case 7:
		return g.request(id, "subscribe", `{"channel":`+g.channel()+`}`)
	case 8:
		return g.notification("unsubscribe", `{"channel":`+g.channel()+`}`)
	case 9:
		return g.request(id, "authenticate", g.credentials())
	case 10:
		return g.handshake(c, id)
	case 11:
		return g.request(id, "ping", one(g, ``, `{}`, ``, `{"channel":"ahp-root://"}`, `{"channel":"ahp-root://"}`, `{"a":1}`, `{"channel":"ahp-client-services://"}`, `{"channel":null}`, `[]`))
	case 12:
		return g.request(id, one(g, "session/new", "clientService/notify", "dispatchAction", "$/cancelRequest", "unsubscribe", "PING"), "{}")
	}
	return g.notification(one(g, "ping", "initialize", "clientService/request", "client/registerService", "dispatchAction", "x"), g.params(`"metadata":{}`))
}

// speechWeights says how often each kind of line comes, by theme.
var speechWeights = [themes][]int{
	//            reg upd unr ntf req ans can sub uns aut hsk png oth not
	themeAny:    {12, 6, 4, 15, 23, 14, 4, 6, 2, 3, 3, 3, 2, 3},
	themeCalls:  {8, 2, 2, 6, 40, 30, 8, 1, 0, 2, 1, 1, 1, 1},
	themeResume: {20, 24, 6, 6, 6, 4, 1, 8, 1, 4, 1, 1, 1, 1},
	themeFlood:  {8, 2, 1, 46, 18, 10, 2, 3, 1, 1, 1, 8, 1, 1},
}

// id is the raw id of a request. There are few, so that they meet in flight.
func (g *generator) id() string {
	if g.Pick(8) > 0 {
		return strconv.Itoa(1 + g.Pick(40))
	}
	return one(g, "1", `"1"`, "1e0", `"a\u0062"`, "-0", "9007199254740993", "1.50", `""`, `"{{x*14}}"`, `"{{x*15}}"`, `"{{x*126}}"`, `"{{x*127}}"`)
}

// request is a request, rarely one with something wrong about its envelope.
func (g *generator) request(id, method, params string) string {
	return g.envelope([]string{`"jsonrpc":"2.0"`, `"id":` + id, `"method":"` + method + `"`}, params)
}

func (g *generator) notification(method, params string) string {
	return g.envelope([]string{`"jsonrpc":"2.0"`, `"method":"` + method + `"`}, params)
}

func (g *generator) envelope(members []string, params string) string {
	if params != "" {
		members = append(members, `"params":`+params)
	}
	if g.Pick(30) == 0 {
		members = g.spoil(members)
	}
	if g.Pick(8) == 0 { // another order
		for i := len(members) - 1; i > 0; i-- {
			j := g.Pick(i + 1)
			members[i], members[j] = members[j], members[i]
		}
	}
	comma := one(g, ",", ",", ",", " ,\t")
	line := "{" + strings.Join(members, comma) + "}"
	switch g.Pick(16) {
	case 0:
		line = strings.Replace(line, `"method":`, `"m\u0065thod" : `, 1)
	case 1:
		line = " \t" + line + " \r"
	case 2:
		line = strings.Replace(line, "ahp-client-services://", `ahp-client-services:\/\/`, 1)
	}
	return line
}

// spoil breaks an envelope.
func (g *generator) spoil(members []string) []string {
	i := g.Pick(len(members))
	switch g.Pick(6) {
	case 0: // leave one out
		return append(members[:i:i], members[i+1:]...)
	case 1: // one twice
		return append(members, members[i])
	case 2: // a wrong value
		name, _, _ := strings.Cut(members[i], ":")
		members[i] = name + ":" + one(g, "null", "1", `"1.0"`, "[]", `{"a":1}`, "true", `"\ud800"`, "1.5", "-1", `"x"`)
		return members
	case 3:
		return append(members, one(g, `"result":1`, `"error":{"code":1,"message":"m"}`, `"result":null`, `"error":null`))
	case 4:
		return append(members, one(g, `"x":[1,2,{"y":null}]`, `"ID":5`, `"Method":"x"`, `"params ":{}`))
	}
	name, value, _ := strings.Cut(members[i], ":") // the case of a name
	members[i] = strings.ToUpper(name) + ":" + value
	return members
}

// params joins the members of params, with a channel that is mostly the right one or none.
func (g *generator) params(members ...string) string {
	switch g.Pick(30) {
	case 0, 1, 2, 3, 4:
		members = append([]string{`"channel":"ahp-client-services://"`}, members...)
	case 5:
		members = append(members, `"channel":`+one(g, `"ahp-client-services://"`, `"ahp-root://"`, "null", "1"))
	case 6, 7:
		members = append(members, one(g, `"_meta":{"a":1}`, `"senderClientId":"liar"`, `"senderPrincipal":"liar"`, `"timeoutMs":5`))
	case 8:
		members = append(members, members[g.Pick(len(members))])
	case 9:
		if g.Pick(2) == 0 {
			i := g.Pick(len(members))
			members = append(members[:i:i], members[i+1:]...)
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// service is the raw id of a service, mostly one that exists.
func (g *generator) service(c *conn, own bool) string {
	var mine, all []int
	for _, s := range g.model.services {
		all = append(all, s.line)
		if s.owner == c {
			mine = append(mine, s.line)
		}
	}
	if own && len(mine) > 0 && g.Pick(4) > 0 {
		all = mine
	}
	if len(all) > 0 && g.Pick(25) > 0 {
		if g.Pick(10) == 0 { // spelled with escapes
			return fmt.Sprintf(`"$S%d"`, one(g, all...)) + one(g, "", " ")
		}
		return fmt.Sprintf(`"$S%d"`, one(g, all...))
	}
	return one(g, fmt.Sprintf(`"$S%d"`, 1+g.Pick(g.lines+1)), `""`, `"x"`, "7", "null", `"{{x*22}}"`, `"\u0041AAA{{x*18}}"`)
}

func (g *generator) metadata() string {
	protocol := one(g, `"protocol":"p"`, `"protocol":"p"`, `"protocol":"git-a"`, `"protocol":"q\/x"`, `"protocol":7`, `"protocol":"\ud800"`, "")
	switch g.Pick(30) {
	case 0:
		return one(g, "null", "[]", `"p"`, "1", `{"a":1,"\u0061":2}`, `{"protocol":"p","protocol":"p"}`, `{"a":{{[*33}}{{]*33}}}`, `{"a":{{[*31}}{{]*31}}}`, `{"a":{{[*32}}{{]*32}}}`)
	case 1, 2, 3, 4, 5:
		return `{` + comma(protocol, `"pad":"{{x*`+one(g, "20", "120", "150", "150", "300", "300", one(g, "900", "16360", "16375"))+`}}"`) + `}`
	case 6, 7:
		return `{ ` + comma(protocol, `"n": 1.50`, `"x":{"d":1,"d":2}`) + ` }`
	}
	return `{` + comma(protocol, `"n":`+strconv.Itoa(g.lines)) + `}`
}

func comma(members ...string) string {
	var kept []string
	for _, m := range members {
		if m != "" {
			kept = append(kept, m)
		}
	}
	return strings.Join(kept, ",")
}

// call is the params of a notification or request to a service.
func (g *generator) call(c *conn) string {
	members := []string{`"serviceId":` + g.service(c, false), `"method":` + g.method()}
	if g.Pick(6) > 0 {
		members = append(members, `"params":`+g.payload())
	}
	if g.Pick(5) == 0 {
		members = append(members, `"timeoutMs":`+one(g, "1", "50", "50", "5e2", "1000", "3000", "100000", one(g, "9007199254740993", "0", "-5", "1.5", `"1"`, "null", "1e400")))
	}
	return g.params(members...)
}

// method is the raw name of a service's method.
func (g *generator) method() string {
	if g.Pick(10) > 0 {
		return `"m"`
	}
	return one(g, `"\u006d"`, `"mm"`, `"mmm\u00e9"`, `""`, `"{{x*256}}"`, `"{{x*257}}"`, "5", `"\ud800"`)
}

func (g *generator) payload() string {
	g.lines++ // so that payloads differ
	switch g.Pick(8) {
	case 0:
		return one(g, "null", "[]", `"x"`, "-1.50e+3", "true", `{"a":1,"a":2}`, `[[[1]]]`, `[[[[1]]]]`, `"\ud800"`, `{"serviceId":"x","id":1}`)
	case 1:
		return `"{{y*` + one(g, "50", "300", "900", "1200", "3000") + `}}"`
	}
	return fmt.Sprintf(`{"n":%d, "t":"é"}`, g.lines)
}
