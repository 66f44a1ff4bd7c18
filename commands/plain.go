package commands

import "reflect"

// found is the location of a field's value in a scanned body.
type found struct{ field, from, to int }

// readPlain fills a struct from a scanned body of texts and lists of texts without escapes, as nearly all are. It
// reports false for any other body, which encoding/json then reads.
func (s *bodyScanner) readPlain(known *form, into any) bool {
	if !s.whole || s.b[0] != '{' {
		return false
	}
	v := reflect.ValueOf(into).Elem()
	for _, f := range s.found {
		raw, at := s.b[f.from:f.to], &known.places[f.field]
		switch at.kind {
		case textPlace:
			text, ok := plainText(raw)
			if !ok {
				return false
			}
			v.FieldByIndex(at.index).SetString(text)
		case textsPlace:
			texts, ok := plainTexts(raw)
			if !ok {
				return false
			}
			*v.FieldByIndex(at.index).Addr().Interface().(*[]string) = texts
		case otherPlace:
			return false
		}
	}
	return true
}

// plainText returns the value of a JSON string without escapes.
func plainText(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	raw = raw[1 : len(raw)-1]
	for _, c := range raw {
		if c < ' ' || c == '\\' || c == '"' {
			return "", false
		}
	}
	return string(raw), true
}

// plainTexts returns the value of a JSON list of such strings. The scanner has checked the syntax.
func plainTexts(raw []byte) ([]string, bool) {
	if raw[0] != '[' {
		return nil, false
	}
	texts := make([]string, 0, 1)
	for i := 1; i < len(raw)-1; {
		if raw[i] != '"' {
			if raw[i] > ' ' && raw[i] != ',' {
				return nil, false
			}
			i++
			continue
		}
		end := i + 1
		for end < len(raw) && raw[end] != '"' {
			end++
		}
		text, ok := plainText(raw[i:min(end+1, len(raw))])
		if !ok {
			return nil, false
		}
		texts, i = append(texts, text), end+1
	}
	return texts, true
}
