//go:build wasip1

// The program of the network's tests: plain WASI, without a kit. It makes the
// requests that its arguments list through the host's import, or tries every way
// to the network that WASI and the standard library have.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"
	"unsafe"
)

//go:wasmimport wagent http
func httpCall(ptr, n uint32) int64

//go:wasmimport wagent read
func httpRead(handle, ptr, n uint32) int32

//go:wasmimport wasi_snapshot_preview1 sock_accept
func sockAccept(fd, flags, at uint32) uint32

//go:wasmimport wasi_snapshot_preview1 sock_recv
func sockRecv(fd, list, n, flags, read, out uint32) uint32

//go:wasmimport wasi_snapshot_preview1 sock_send
func sockSend(fd, list, n, flags, written uint32) uint32

//go:wasmimport wasi_snapshot_preview1 sock_shutdown
func sockShutdown(fd, how uint32) uint32

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--describe" {
		fmt.Print(`{"tools":[{"name":"requests","inputSchema":{"type":"object"}}]}`)
		return
	}
	var in struct {
		Arguments struct {
			Requests []json.RawMessage `json:"requests"`
			Dial     []string          `json:"dial"`
			Times    int               `json:"times"`
			Discard  bool              `json:"discard"`
		} `json:"arguments"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fmt.Fprintln(os.Stderr, "reading the request:", err)
		os.Exit(1)
	}
	if len(in.Arguments.Dial) > 0 {
		fmt.Print(dial(in.Arguments.Dial))
		return
	}
	replies := []json.RawMessage{}
	for range max(1, in.Arguments.Times) {
		for _, req := range in.Arguments.Requests {
			r := request(req)
			if in.Arguments.Discard && !bytes.Contains(r, []byte(`"error"`)) {
				continue
			}
			replies = append(replies, r)
		}
	}
	b, err := json.Marshal(replies)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s", b)
}

// request returns what the host answers, or the number that it refuses with.
func request(req []byte) json.RawMessage {
	res := httpCall(at(req), uint32(len(req)))
	if res < 0 {
		return fmt.Appendf(nil, `{"errno":%d}`, res)
	}
	body := make([]byte, uint32(res))
	for n := 0; n < len(body); {
		got := httpRead(uint32(res>>32), at(body[n:]), uint32(len(body)-n))
		if got <= 0 {
			return fmt.Appendf(nil, `{"errno":%d}`, got)
		}
		n += int(got)
	}
	return body
}

// dial goes through every function of WASI that has to do with sockets, on
// descriptors that are and are not, and through the standard library.
func dial(addresses []string) string {
	scratch := make([]byte, 64)
	p := at(scratch)
	for fd := range uint32(64) {
		for name, errno := range map[string]uint32{
			"sock_accept":   sockAccept(fd, 0, p),
			"sock_recv":     sockRecv(fd, p+16, 1, 0, p, p+8),
			"sock_send":     sockSend(fd, p+16, 1, 0, p),
			"sock_shutdown": sockShutdown(fd, 2),
		} {
			if errno == 0 {
				return fmt.Sprintf("%s of %d went well", name, fd)
			}
		}
	}
	for _, a := range addresses {
		c, err := net.DialTimeout("tcp", a, time.Second)
		if err == nil {
			c.Close()
			return "connected to " + a
		}
		if ips, err := net.LookupHost("localhost"); err == nil {
			return fmt.Sprint("looked up ", ips)
		}
	}
	return "no way out"
}

func at(b []byte) uint32 { return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
