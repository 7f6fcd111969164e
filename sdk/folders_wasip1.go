//go:build wasip1

package sdk

import "unsafe"

// prestat is what WASI says about an open folder.
type prestat struct {
	tag  uint32 // 0: a folder
	size uint32 // of its name
}

//go:wasmimport wasi_snapshot_preview1 fd_prestat_get
func fdPrestatGet(fd int32, out unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 fd_prestat_dir_name
func fdPrestatDirName(fd int32, ptr unsafe.Pointer, n uint32) uint32

// firstFD is the first file that is not standard input, output or error.
const firstFD = 3

// maxFolderName is the longest name that is believed.
const maxFolderName = 4096

// hostFolders asks for each open file until there are no more. Folders come
// first, so the first file that is none ends the list.
func hostFolders(*Call) []string {
	var folders []string
	for fd := int32(firstFD); ; fd++ {
		var p prestat
		if fdPrestatGet(fd, unsafe.Pointer(&p)) != 0 || p.tag != 0 || p.size > maxFolderName {
			return folders
		}
		name := make([]byte, p.size)
		if fdPrestatDirName(fd, unsafe.Pointer(unsafe.SliceData(name)), p.size) != 0 {
			return folders
		}
		folders = append(folders, string(name))
	}
}
