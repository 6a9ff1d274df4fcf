package codec

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
)

// bodies makes params values of about size bytes. Benchmarks use hundreds of different ones, because a
// branch predictor learns a single frame by heart.
var bodies = []struct {
	name string
	make func(r *rand.Rand, size int) []byte
}{
	{"string", func(r *rand.Rand, size int) []byte {
		return stringBody(r, size, " abcdefghijklmnopqrstuvwxyzABCDEFGH,.:;{}[]")
	}},
	{"dense", denseBody},
	{"cjk", func(r *rand.Rand, size int) []byte {
		return stringBody(r, size, "日本語漢字仮名交文章中国話汉语拼音，。")
	}},
	{"cyrillic", func(r *rand.Rand, size int) []byte {
		return stringBody(r, size, "абвгдежзийклмн опрст")
	}},
	{"escapes", func(r *rand.Rand, size int) []byte { return escapedBody(r, size) }},
}

func stringBody(r *rand.Rand, size int, alphabet string) []byte {
	letters := []rune(alphabet)
	body := []byte{'"'}
	for len(body)+1 < size {
		body = append(body, string(letters[r.IntN(len(letters))])...)
	}
	return append(body, '"')
}

func escapedBody(r *rand.Rand, size int) []byte {
	body := []byte{'"'}
	for len(body)+1 < size {
		for range r.IntN(24) {
			body = append(body, byte('a'+r.IntN(26)))
		}
		body = append(body, []string{`\n`, `\"`, `\\`, `\u00e9`, `\t`}[r.IntN(5)]...)
	}
	return append(body, '"')
}

// denseBody makes an object of short members: numbers, words, flat arrays and objects.
func denseBody(r *rand.Rand, size int) []byte {
	body := []byte{'{'}
	for i := 0; len(body)+1 < size; i++ {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, '"')
		for range 1 + r.IntN(6) {
			body = append(body, byte('a'+r.IntN(26)))
		}
		body = append(body, '"', ':')
		body = denseValue(r, body, size)
	}
	return append(body, '}')
}

func denseValue(r *rand.Rand, body []byte, size int) []byte {
	switch r.IntN(7) {
	case 0:
		return append(body, "true"...)
	case 1:
		return append(body, "null"...)
	case 2:
		return strconv.AppendFloat(body, r.Float64()*1000, 'f', r.IntN(5), 64)
	case 3:
		if size > 64 {
			return fmt.Appendf(body, `[%d,%d,%d]`, r.IntN(10), r.IntN(100), r.IntN(100000))
		}
	case 4:
		if size > 64 {
			return fmt.Appendf(body, `{"x":%d,"y":"%x"}`, r.IntN(1000), r.IntN(1<<20))
		}
	case 5:
		return fmt.Appendf(body, `"%x"`, r.IntN(1<<(4*(1+r.IntN(5)))))
	}
	return strconv.AppendInt(body, int64(r.IntN(100000)), 10)
}

// notifyLines makes count different clientService/notify lines that lie behind each other in one
// buffer, as they do in a read.
func notifyLines(count, size int, body func(r *rand.Rand, size int) []byte) [][]byte {
	r := rand.New(rand.NewPCG(1, uint64(size)))
	var buffer []byte
	ends := make([]int, 0, count)
	for range count {
		buffer = fmt.Appendf(buffer, `{"jsonrpc":"2.0","method":"clientService/notify","params":{"channel":"ahp-client-services://","serviceId":"%011x%011x","method":"update","params":%s}}`,
			r.Uint64()>>20, r.Uint64()>>20, body(r, size))
		ends = append(ends, len(buffer))
		buffer = append(buffer, '\n')
	}
	lines := make([][]byte, 0, count)
	start := 0
	for _, end := range ends {
		lines = append(lines, buffer[start:end:end])
		start = end + 1
	}
	return lines
}

func BenchmarkParse(b *testing.B) {
	for _, body := range bodies {
		for _, size := range []int{16, 128, 1 << 10, 16 << 10} {
			b.Run(fmt.Sprintf("%s/%d", body.name, size), func(b *testing.B) {
				lines := notifyLines(min(512, 4<<20/size), size, body.make)
				total := 0
				for _, line := range lines {
					total += len(line)
				}
				b.SetBytes(int64(total / len(lines)))
				var m Message
				i := 0
				before := userTime()
				for b.Loop() {
					if !Parse(lines[i], 128, &m) {
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

// BenchmarkParseCalls parses requests and their answers, 16 bytes of body each.
func BenchmarkParseCalls(b *testing.B) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, format := range []struct{ name, text string }{
		{"request", `{"jsonrpc":"2.0","id":%d,"method":"clientService/request","params":{"channel":"ahp-client-services://","serviceId":"%011x%011x","method":"get","params":%s,"timeoutMs":30000}}`},
		{"answer", `{"jsonrpc":"2.0","id":%[1]d,"result":%[4]s}`},
	} {
		lines := make([][]byte, 512)
		for i := range lines {
			lines[i] = fmt.Appendf(nil, format.text, r.IntN(1<<40), r.Uint64()>>20, r.Uint64()>>20, denseBody(r, 16))
		}
		b.Run(format.name+"/16", func(b *testing.B) {
			var m Message
			i := 0
			before := userTime()
			for b.Loop() {
				if !Parse(lines[i&511], 128, &m) {
					b.Fatalf("refused %s", lines[i&511])
				}
				i++
			}
			b.ReportMetric(float64(userTime()-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

func BenchmarkFramer(b *testing.B) {
	for _, size := range []int{16, 1 << 10} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			var read []byte
			lines := notifyLines(512, size, denseBody)
			for _, line := range lines {
				read = append(append(read, line...), '\n')
			}
			read = read[100:]
			b.SetBytes(int64(len(read)))
			var f Framer
			for b.Loop() {
				data := read
				for s := FrameLine; s == FrameLine; {
					_, data, s = f.Next(data, 1<<20)
				}
			}
		})
	}
}

func BenchmarkAppendNotification(b *testing.B) {
	sender, method, params := []byte(`"client-1234"`), []byte(`"update"`), []byte(`{"a":1,"b":2.5}`)
	out := make([]byte, 0, 4096)
	for b.Loop() {
		out = AppendNotification(out[:0], "0123456789abcdef012345", sender, nil, method, params)
	}
}
