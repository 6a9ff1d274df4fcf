package codec

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// payloads makes containers of about size bytes, as they stand in params.
var payloads = []struct {
	name string
	make func(r *rand.Rand, size int) []byte
}{
	{"items", itemsBody},
	{"dense", denseBody},
	{"nested", nestedBody},
	{"spaced", func(r *rand.Rand, size int) []byte {
		return []byte(strings.NewReplacer(":", ": ", ",", ", ").Replace(string(denseBody(r, size*7/8))))
	}},
	{"string", func(r *rand.Rand, size int) []byte {
		return append(append([]byte(`{"d":`), stringBody(r, size-6, "abcdefghijklmnopqrstuvwxyz")...), '}')
	}},
	{"cjk", func(r *rand.Rand, size int) []byte {
		return append(append([]byte(`{"d":`), stringBody(r, size-6, "日本語漢字仮名交文章中国話汉语拼音，。")...), '}')
	}},
}

// itemsBody makes a flat array of small objects.
func itemsBody(r *rand.Rand, size int) []byte {
	body := []byte(`{"items":[`)
	for i := 0; i == 0 || len(body) < size-24; i++ {
		if i > 0 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, `{"k%d":%d,"b":%t}`, r.IntN(100), r.IntN(100000), r.IntN(2) == 0)
	}
	return append(body, `]}`...)
}

// nestedBody makes records with arrays and objects in them.
func nestedBody(r *rand.Rand, size int) []byte {
	body := []byte(`[`)
	for i := 0; i == 0 || len(body) < size-16; i++ {
		if i > 0 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, `{"id":%d,"tags":[`, r.IntN(1000000))
		for k := range r.IntN(3) {
			if k > 0 {
				body = append(body, ',')
			}
			body = fmt.Appendf(body, `"%x"`, r.IntN(1<<16))
		}
		body = fmt.Appendf(body, `],"at":{"x":%d,"y":{"v":%d}},"path":[[%d,%d],[%d]]}`, r.IntN(100), r.IntN(10), r.IntN(10), r.IntN(100), r.IntN(1000))
	}
	return append(body, `]`...)
}

func BenchmarkSkipValue(b *testing.B) {
	for _, body := range payloads {
		for _, size := range []int{32, 64, 128, 1 << 10, 16 << 10} {
			b.Run(body.name+"/"+strconv.Itoa(size), func(b *testing.B) {
				lines := notifyLines(min(1024, 4<<20/size), size, body.make)
				at := make([]int, len(lines))
				total := 0
				for i, line := range lines {
					var m Message
					if !Parse(line, 128, &m) {
						b.Fatalf("refused %s", line)
					}
					at[i] = int(m.Payload.Off)
					total += len(line) - at[i] - 2
				}
				b.ReportMetric(float64(total)/float64(len(lines)), "bytes")
				i := 0
				before := userTime()
				for b.Loop() {
					if end := SkipValue(lines[i], at[i], 126); end != len(lines[i])-2 {
						b.Fatalf("refused %s", lines[i])
					}
					if i++; i == len(lines) {
						i = 0
					}
				}
				b.ReportMetric(float64(userTime()-before)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}
