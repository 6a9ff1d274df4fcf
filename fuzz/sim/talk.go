package sim

import (
	"fmt"
	"strconv"
)

// answer is an owner's answer, mostly to a request that it has.
func (g *generator) answer(c *conn) string {
	var mine, all []int
	for _, k := range g.model.calls {
		all = append(all, k.line)
		if k.service.owner == c {
			mine = append(mine, k.line)
		}
	}
	if len(mine) > 0 && g.Pick(10) > 0 {
		all = mine
	}
	id := one(g, "0", "-1", "1.5", "null", `"1"`, "1e999", strconv.Itoa(1+g.Pick(100)))
	if g.lines > 0 && g.Pick(3) > 0 {
		id = fmt.Sprintf("$R%d", 1+g.Pick(g.lines))
	}
	if len(all) > 0 && g.Pick(12) > 0 {
		id = fmt.Sprintf("$R%d", one(g, all...)) + one(g, "", "", "", "", "", "", "e0", ".0")
		if g.Pick(20) == 0 {
			id = `"` + id + `"`
		}
	}
	body := []string{`"jsonrpc":"2.0"`, `"id":` + id}
	switch g.Pick(16) {
	case 0, 1:
		body = append(body, `"error":`+g.failure())
	case 2:
		body = append(body, one(g, `"result":1,"error":{"code":1,"message":"m"}`, `"result":null,"error":null`, `"error":null`, `"params":{}`, `"x":1`))
	case 3: // no result and no error
	default:
		body = append(body, `"result":`+g.payload())
	}
	return g.envelope(body, "")
}

// failure is an owner's error.
func (g *generator) failure() string {
	return one(g, `{"code":-32601,"message":"m"}`, `{"code":1,"message":"m","data":{"a": 1.0,"a":2}}`, `{ "message":"\u0041","code":-1e2, "x":1 }`,
		`{"code":-32050,"message":"m"}`, `{"code":-32053,"message":"m","data":1}`, `{"code":-3205e1,"message":"m"}`, `{"code":-32049,"message":"m"}`, `{"code":-32054,"message":"m"}`,
		`{"code":1.5,"message":"m"}`, `{"code":"1","message":"m"}`, `{"code":1}`, `{"message":"m"}`, `{"code":1,"message":5}`, `{"code":1,"code":1,"message":"m"}`, `{"code":1,"message":"m","data":1,"data":1}`, `"e"`, `[]`)
}

// pending is the raw id of a request that c has made, mostly.
func (g *generator) pending(c *conn) string {
	for _, k := range g.model.calls {
		if k.caller == c && g.Pick(2) == 0 {
			return k.id
		}
	}
	if len(g.model.calls) > 0 && g.Pick(2) == 0 {
		return one(g, g.model.calls...).id
	}
	return g.id()
}

func (g *generator) channel() string {
	if g.Pick(8) > 0 {
		return one(g, `"ahp-client-services://"`, `"ahp-client-services://"`, `"ahp-root://"`)
	}
	return one(g, `"ahp-root:\/\/"`, `"ahp-session:/1"`, "null", "1")
}

func (g *generator) channels() string {
	if g.Pick(8) > 0 {
		return one(g, `["ahp-client-services://"]`, `["ahp-client-services://"]`, `["ahp-root://","ahp-client-services://"]`, `["ahp-root://"]`, `[]`)
	}
	return one(g,
		`["ahp-client-services://","x://","ahp-client-services://"]`, `["ahp-root://",1]`, `{}`)
}

func (g *generator) client() string {
	if g.Pick(12) > 0 {
		return one(g, `"a"`, `"b"`, `"c"`, `"d"`, `"d1"`)
	}
	return one(g, `"\u0061"`, `"é\"x"`, `""`, `"\ud800"`, "1", `"{{x*128}}"`, `"{{x*129}}"`)
}

func (g *generator) credentials() string {
	resource := `"https://ahprelay.localhost"`
	if g.Pick(8) == 0 {
		resource = one(g, `"https:\/\/ahprelay.localhost"`, `"x"`, "1")
	}
	members := []string{`"resource":` + resource, `"token":"` + one(g, tokens...) + `"`}
	if g.Pick(8) == 0 {
		members = append(members, one(g, `"channel":"ahp-root://"`, `"channel":"ahp-client-services://"`, `"x":1`))
	}
	return "{" + comma(members...) + "}"
}

// handshake is an initialize or a reconnect.
func (g *generator) handshake(c *conn, id string) string {
	root := one(g, `"channel":"ahp-root://"`, `"channel":"ahp-root://"`, `"capabilities":{}`)
	if g.Pick(25) == 0 {
		root = `"channel":"ahp-client-services://"`
	}
	if g.theme == themeResume && g.Pick(4) > 0 {
		return g.comeBack(c, id)
	}
	if g.Pick(3) > 0 {
		versions := `["1.0.0"]`
		if g.Pick(8) == 0 {
			versions = one(g, `["0.3.0","0.9.7","2.0.0"]`, `["2.0.0"]`, `[]`, `["1.0"]`, `["1.0.0-rc"]`, `["0.10.0","0.2.9"]`, `["01.0.0"]`, `"1.0.0"`, `["1.2.3","1.10.0"]`)
		}
		members := []string{root, `"protocolVersions":` + versions, `"clientId":` + g.client()}
		if g.Pick(2) == 0 {
			members = append(members, `"initialSubscriptions":`+g.channels())
		}
		if g.Pick(10) == 0 {
			members = append(members, `"clientInfo":`+one(g, `{"name":"n","version":"v"}`, "1", `{"name":"{{x*3000}}"}`))
		}
		return g.request(id, "initialize", "{"+comma(members...)+"}")
	}
	client := g.client()
	members := []string{root, `"clientId":` + client, `"lastSeenServerSeq":` + g.seen(c, client), `"subscriptions":` + g.channels()}
	if g.Pick(2) == 0 {
		members = append(members, `"_meta":{"ahprelay.resumeToken":"`+g.token(client)+`"}`)
	}
	return g.request(id, "reconnect", "{"+comma(members...)+"}")
}

// comeBack is a handshake of one of few clients: a reconnect where there is something to come back to.
func (g *generator) comeBack(c *conn, id string) string {
	client := one(g, `"a"`, `"b"`, `"c"`)
	for _, name := range []string{"a", "b", "c"} {
		if g.model.holder(name) == nil && len(g.model.stories[name+"\x00"+c.principal]) > 0 && g.Pick(3) > 0 {
			client = quote(name)
		}
	}
	told := g.model.stories[client[1:2]+"\x00"+c.principal]
	if len(told) == 0 {
		return g.request(id, "initialize", `{"protocolVersions":["1.0.0"],"clientId":`+client+`,"initialSubscriptions":["ahp-client-services://"]}`)
	}
	back := 0
	if g.Pick(3) == 0 {
		back = g.Pick(len(told))
	}
	return g.request(id, "reconnect", `{"clientId":`+client+`,"lastSeenServerSeq":`+strconv.FormatUint(told[len(told)-1-back].seq, 10)+
		`,"subscriptions":["ahp-client-services://"],"_meta":{"ahprelay.resumeToken":"`+g.token(client)+`"}}`)
}

// token is a resume token, mostly that of the connection which has the clientId.
func (g *generator) token(client string) string {
	v, _ := readJSON(client, 1)
	text, ok := v.string()
	for _, c := range g.model.conns {
		if ok && c.client == text && g.Pick(4) > 0 {
			return fmt.Sprintf("$T%d", c.line)
		}
	}
	return fmt.Sprintf("$T%d", g.Pick(g.lines+1))
}

// seen is a serverSeq that a client may have seen, mostly the last.
func (g *generator) seen(c *conn, client string) string {
	if text, ok := readJSON(client, 1); ok {
		name, _ := text.string()
		if told := g.model.stories[name+"\x00"+c.principal]; len(told) > 0 && g.Pick(6) > 0 {
			back := 0
			if g.Pick(2) == 0 {
				back = g.Pick(len(told))
			}
			return strconv.FormatUint(told[len(told)-1-back].seq, 10)
		}
	}
	return one(g, "0", "1000", strconv.FormatUint(g.model.seq, 10), strconv.FormatUint(g.model.seq+1, 10), "999", "-1", "1.5", `"1"`, "1e3", "9007199254740991")
}

// garbage is a line that is no message.
func (g *generator) garbage() string {
	return one(g, "", "\r", "not json", "{", "{}", "[]", "null", "1", `"x"`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}x`, `{"jsonrpc":"2.0","id":01,"method":"ping"}`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\xff\"}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\xed\xa0\x80\"}", "\ufeff{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\u2028\u2029\u0085\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\t\"}", "{\"jsonrpc\":\"2.0\",\"id\":1,\v\"method\":\"ping\"}", "\x00", `{"jsonrpc":"2.0","id":1,"method":"ping","x":{{[*100}}{{]*100}}}`, `{"jsonrpc":"2.0","id":1,"method":"ping","x":{{[*127}}{{]*127}}}`, `{"jsonrpc":"2.0","id":1,"method":"ping","x":{{[*128}}{{]*128}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","x":[1,]}`, `{"jsonrpc":"2.0","id":1,"method":"ping","x":[1.,.5,+1,0x1,NaN]}`, `{"jsonrpc":"2.0","method":"clientService/notify","params":{"pad":"{{z*2100}}"}}`, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"pad":"{{z*1300}}"}}`, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"pad":"{{z*66000}}"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","\ud800":1,"\ud800":2}`)
}
