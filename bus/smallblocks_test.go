package bus

import (
	"os"
	"path/filepath"
	"testing"
)

// inBlocks divides the only block of each stream of a closed store into this many: in a stream of one block, that block
// is the newest, of which there is a copy.
func inBlocks(t *testing.T, dir string, parts int) {
	t.Helper()
	for _, stored := range storedStreams {
		messages := filepath.Join(streamPath(dir, stored.name), "msgs")
		if blocks, err := blockFiles(messages); err != nil || len(blocks) != 1 || blocks[0] != 1 {
			t.Fatalf("%s has the blocks %v, %v", stored.name, blocks, err)
		}
		whole, err := os.ReadFile(filepath.Join(messages, blockName(1)))
		must(t, err)
		var records [][]byte
		for len(whole) > 0 {
			length := claimed(whole)
			if length == 0 || length > len(whole) {
				t.Fatalf("%s: no record at %d bytes from its end", stored.name, len(whole))
			}
			records, whole = append(records, whole[:length]), whole[length:]
		}
		if len(records) < parts {
			t.Fatalf("%s has %d records", stored.name, len(records))
		}
		for part := range parts {
			index := part + 1
			parser := newRecordParser(stored.name, stored.prefix, index)
			var block []byte
			for _, record := range records[part*len(records)/parts : index*len(records)/parts] {
				block = append(block, parser.summed(record)...)
			}
			must(t, os.WriteFile(filepath.Join(messages, blockName(index)), block, 0o600))
		}
		must(t, ignoreMissing(os.Remove(filepath.Join(messages, indexName)))) // the server recreates it
	}
}

// summed returns a whole record of another block with the checksum that it has in this one.
func (p *recordParser) summed(record []byte) []byte {
	data := record[recordHead : len(record)-recordSum]
	subject := int(record[20]) | int(record[21])<<8
	begin := subject
	if record[3]&0x80 != 0 { // it has a header and the header's length
		begin += 4
	}
	p.sum.Reset()
	_, _ = p.sum.Write(record[4:20])
	_, _ = p.sum.Write(data[:subject])
	_, _ = p.sum.Write(data[begin:])
	return p.sum.Sum(append([]byte(nil), record[:len(record)-recordSum]...))
}
