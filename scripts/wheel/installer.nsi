; The installer for Windows, made by makensis (NSIS), which runs on Linux, too:
;     makensis -DVERSION=0.1.0 -DFOLDER=/…/build/app/tilescope -DLICENCE=/…/LICENSE \
;         -DOUT=/…/setup.exe installer.nsi
; Paths are absolute: makensis goes to the folder of this file.
; It installs for the user alone and asks for no administrator.
Unicode true
!ifdef TARGET ; amd64-unicode, of Debian's NSIS, runs under Wine without a 32-bit one
  Target ${TARGET}
!endif
!include "MUI2.nsh"
!include "FileFunc.nsh"
!define KEY "Software\Microsoft\Windows\CurrentVersion\Uninstall\Tilescope"

Name "Tilescope ${VERSION}"
OutFile "${OUT}"
RequestExecutionLevel user
InstallDir "$LOCALAPPDATA\Programs\Tilescope"
InstallDirRegKey HKCU "${KEY}" "InstallLocation"
SetCompressor /SOLID lzma
VIProductVersion "${VERSION}.0"
VIAddVersionKey "ProductName" "Tilescope"
VIAddVersionKey "FileDescription" "Installs Tilescope"
VIAddVersionKey "FileVersion" "${VERSION}"
VIAddVersionKey "LegalCopyright" "MIT licence"

!define MUI_FINISHPAGE_RUN "$INSTDIR\tilescope-window.exe"
!insertmacro MUI_PAGE_LICENSE "${LICENCE}"
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"

Section "Tilescope"
  ; Files of an older version would be found beside those of this one.
  IfFileExists "$INSTDIR\tilescope-window.exe" 0 +2
    RMDir /r "$INSTDIR\lib"
  SetOutPath "$INSTDIR"
  File /r "${FOLDER}/*"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateShortcut "$SMPROGRAMS\Tilescope.lnk" "$INSTDIR\tilescope-window.exe"
  ${GetSize} "$INSTDIR" "/S=0K" $0 $1 $2
  IntFmt $0 "0x%08X" $0
  WriteRegStr HKCU "${KEY}" "DisplayName" "Tilescope"
  WriteRegStr HKCU "${KEY}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${KEY}" "DisplayIcon" "$INSTDIR\tilescope-window.exe"
  WriteRegStr HKCU "${KEY}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${KEY}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${KEY}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${KEY}" "EstimatedSize" "$0"
  WriteRegDWORD HKCU "${KEY}" "NoModify" 1
  WriteRegDWORD HKCU "${KEY}" "NoRepair" 1
SectionEnd

Section "Uninstall"
  ; Only what was installed: the folder may be one that somebody chose.
  RMDir /r "$INSTDIR\lib"
  Delete "$INSTDIR\tilescope.exe"
  Delete "$INSTDIR\tilescope-window.exe"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\Tilescope.lnk"
  DeleteRegKey HKCU "${KEY}"
SectionEnd
