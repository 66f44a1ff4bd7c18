package events

// traceForm is a W3C trace context of version 00: version, trace id, parent id and flags.
const traceForm = "00-00000000000000000000000000000000-0000000000000000-00"

// TraceParent returns a W3C trace context as an event has it, or "" if the text is none, which the standard requires to
// ignore. Of a later version of the standard it keeps what this one knows, as version 00.
func TraceParent(text string) string {
	if len(text) < len(traceForm) || len(text) > len(traceForm) && text[len(traceForm)] != '-' {
		return ""
	}
	known := text[:len(traceForm)]
	for i := range len(known) {
		digit := '0' <= known[i] && known[i] <= '9' || 'a' <= known[i] && known[i] <= 'f'
		if (traceForm[i] == '-') != (known[i] == '-') || traceForm[i] == '0' && !digit {
			return ""
		}
	}
	const traceID, parentID, flags = 3, 36, 53
	switch version := known[:2]; {
	case known[traceID:traceID+32] == traceForm[traceID:traceID+32],
		known[parentID:parentID+16] == traceForm[parentID:parentID+16], version == "ff":
		return ""
	case version == "00" && len(text) > len(known):
		return ""
	case version == "00":
		return known
	}
	last := known[flags+1]
	sampled := last >= 'a' && (last-'a')%2 == 1 || last < 'a' && (last-'0')%2 == 1
	if sampled {
		return "00" + known[2:flags] + "01"
	}
	return "00" + known[2:flags] + "00"
}
