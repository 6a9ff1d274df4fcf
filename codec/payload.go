package codec

// SkipValue validates the JSON value that starts at b[at], its UTF-8 included, and returns the index
// behind it, -1 when it is invalid or nests more than depthMax containers. What stands before it and
// behind it is not looked at. Nothing is allocated unless the value nests deeper than 128 levels.
func SkipValue(b []byte, at, depthMax int) int {
	if len(b)-at >= denseBytesMin && depthMax > 0 && (b[at] == '{' || b[at] == '[') {
		end, high := skipText(b, at)
		if end == 0 {
			end, high = skipDense(b, at, depthMax)
		}
		if high && end >= 0 && !validText(b[at:end]) {
			return -1
		}
		return end
	}
	end := skipValue(b, at, depthMax)
	if end < 0 || !validText(b[at:end]) {
		return -1
	}
	return end
}
