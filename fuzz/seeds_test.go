package fuzz

import "strings"

// lines seed the targets that take one line.
var lines = []string{
	``, ` `, `null`, `{}`, `[]`, `[1,2,{"a":[true,false,null]}]`, `"\ud800"`, `"\ud83d\ude00é日本"`, `-1.5e+3`, `01`, `1.`, `[1,]`, `{"a":1,}`, `{"a" 1}`, `[1}`, `"` + "\xed\xa0\x80" + `"`,
	`{"jsonrpc":"2.0","id":7,"method":"clientService/request","params":{"channel":"ahp-client-services://","serviceId":"s1","method":"m","params":{"x":[1,2]},"timeoutMs":1000}}`,
	`{"jsonrpc":"2.0","method":"clientService/notify","params":{"serviceId":"s1","method":"m\u0065","params":"\u00e9"}}`,
	`{"m\u0065thod":"$/cancelRequest","p\u0061rams":{"i\u0064":"x","id":1},"params":{}}`,
	`{"jsonrpc":"2.0","id":"a","result":{"a":1,"a":2}}`, `{"id":1,"error":{"code":-32601,"message":"m","data":null},"error":1}`,
	"\t{ \"id\" :\r1 , \"params\" : [ ] } ",
	strings.Repeat("[", 130) + strings.Repeat("]", 130), strings.Repeat(`{"a":`, 127) + "1" + strings.Repeat("}", 127),
	`{"params":{"params":["` + strings.Repeat("x", 300) + `","` + strings.Repeat("é", 200) + `"],"metadata":{"protocol":"p"}}}`,
	`{"params":{"params":[` + strings.Repeat(`{"k":-1.25e3,"s":"a\n"},`, 40) + `0]}}`,
}
