/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Well-known Windows interfaces, and the names of their procedures by opnum, from the specifications of the services
 * ([MS-SRVS], [MS-SAMR] and others). "-" stands for an opnum without a name. */
#include <string.h>

#include "dce.h"

static const struct known_interface {
    uint8_t uuid[DCE_UUID];
    const char *service;
    const char *procedures; /* separated by spaces */
} known_interfaces[] = {
    { { 0x00, 0x00, 0x01, 0x31, 0x00, 0x00, 0x00, 0x00, 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x46 },
      "IRemUnknown",
      "- - - RemQueryInterface RemAddRef RemRelease" },
    { { 0x00, 0x00, 0x01, 0x43, 0x00, 0x00, 0x00, 0x00, 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x46 },
      "IRemUnknown2",
      "QueryInterface AddRef Release RemQueryInterface RemAddRef RemRelease RemQueryInterface2" },
    { { 0x00, 0x00, 0x01, 0xa0, 0x00, 0x00, 0x00, 0x00, 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x46 },
      "IRemoteSCMActivator",
      "QueryInterfaceIRemoteSCMActivator AddRefIRemoteISCMActivator ReleaseIRemoteISCMActivator "
      "RemoteGetClassObject RemoteCreateInstance" },
    { { 0x12, 0x34, 0x56, 0x78, 0x12, 0x34, 0xab, 0xcd, 0xef, 0x00, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab },
      "spoolss",
      "RpcEnumPrinters RpcOpenPrinter RpcSetJob RpcGetJob RpcEnumJobs RpcAddPrinter RpcDeletePrinter "
      "RpcSetPrinter RpcGetPrinter RpcAddPrinterDriver RpcEnumPrinterDrivers RpcGetPrinterDriver "
      "RpcGetPrinterDriverDirectory RpcDeletePrinterDriver RpcAddPrintProcessor RpcEnumPrintProcessors "
      "RpcGetPrintProcessorDirectory RpcStartDocPrinter RpcStartPagePrinter RpcWritePrinter "
      "RpcEndPagePrinter RpcAbortPrinter RpcReadPrinter RpcEndDocPrinter RpcAddJob RpcScheduleJob "
      "RpcGetPrinterData RpcSetPrinterData RpcWaitForPrinterChange RpcClosePrinter RpcAddForm RpcDeleteForm "
      "RpcGetForm RpcSetForm RpcEnumForms RpcEnumPorts RpcEnumMonitors RpcAddPort RpcConfigurePort "
      "RpcDeletePort RpcCreatePrinterIC RpcPlayGdiScriptOnPrinterIC RpcDeletePrinterIC "
      "RpcAddPrinterConnection RpcDeletePrinterConnection RpcPrinterMessageBox RpcAddMonitor "
      "RpcDeleteMonitor RpcDeletePrintProcessor RpcAddPrintProvidor RpcDeletePrintProvidor "
      "RpcEnumPrintProcessorDatatypes RpcResetPrinter RpcGetPrinterDriver2 "
      "RpcClientFindFirstPrinterChangeNotification RpcFindNextPrinterChangeNotification "
      "RpcFindClosePrinterChangeNotification RpcRouterFindFirstPrinterChangeNotificationOld "
      "RpcReplyOpenPrinter RpcRouterReplyPrinter RpcReplyClosePrinter RpcAddPortEx "
      "RpcRemoteFindFirstPrinterChangeNotification RpcSpoolerInit RpcResetPrinterEx "
      "RpcRemoteFindFirstPrinterChangeNotificationEx RpcRouterReplyPrinterEx "
      "RpcRouterRefreshPrinterChangeNotification RpcSetAllocFailCount RpcSplOpenPrinter RpcAddPrinterEx "
      "RpcSetPort RpcEnumPrinterData RpcDeletePrinterData RpcClusterSplOpen RpcClusterSplClose "
      "RpcClusterSplIsAlive RpcSetPrinterDataEx RpcGetPrinterDataEx RpcEnumPrinterDataEx RpcEnumPrinterKey "
      "RpcDeletePrinterDataEx RpcDeletePrinterKey RpcSeekPrinter RpcDeletePrinterDriverEx "
      "RpcAddPerMachineConnection RpcDeletePerMachineConnection RpcEnumPerMachineConnections RpcXcvData "
      "RpcAddPrinterDriverEx RpcSplOpenPrinter RpcGetSpoolFileInfo RpcCommitSpoolData "
      "RpcCloseSpoolFileHandle RpcFlushPrinter RpcSendRecvBidiData RpcAddDriverCatalog "
      "RpcAddPrinterConnection2 RpcDeletePrinterConnection2 RpcInstallPrinterDriverFromPackage "
      "RpcUploadPrinterDriverPackage RpcGetCorePrinterDrivers RpcCorePrinterDriverInstalled "
      "RpcGetPrinterDriverPackagePath RpcReportJobProcessingProgress" },
    { { 0x12, 0x34, 0x56, 0x78, 0x12, 0x34, 0xab, 0xcd, 0xef, 0x00, 0x01, 0x23, 0x45, 0x67, 0xcf, 0xfb },
      "netlogon",
      "NetrLogonUasLogon NetrLogonUasLogoff NetrLogonSamLogon NetrLogonSamLogoff NetrServerReqChallenge "
      "NetrServerAuthenticate NetrServerPasswordSet NetrDatabaseDeltas NetrDatabaseSync NetrAccountDeltas "
      "NetrAccountSync NetrGetDCName NetrLogonControl NetrGetAnyDCName NetrLogonControl2 "
      "NetrServerAuthenticate2 NetrDatabaseSync2 NetrDatabaseRedo NetrLogonControl2Ex "
      "NetrEnumerateTrustedDomains DsrGetDcName NetrLogonGetCapabilities NetrLogonSetServiceBits "
      "NetrLogonGetTrustRid NetrLogonComputeServerDigest NetrLogonComputeClientDigest "
      "NetrServerAuthenticate3 DsrGetDcNameEx DsrGetSiteName NetrLogonGetDomainInfo NetrServerPasswordSet2 "
      "NetrServerPasswordGet NetrLogonSendToSam DsrAddressToSiteNamesW DsrGetDcNameEx2 "
      "NetrLogonGetTimeServiceParentDomain NetrEnumerateTrustedDomainsEx DsrAddressToSiteNamesExW "
      "DsrGetDcSiteCoverageW NetrLogonSamLogonEx DsrEnumerateDomainTrusts DsrDeregisterDnsHostRecords "
      "NetrServerTrustPasswordsGet DsrGetForestTrustInformation NetrGetForestTrustInformation "
      "NetrLogonSamLogonWithFlags NetrServerGetTrustInfo unused DsrUpdateReadOnlyServerDnsRecords "
      "NetrChainSetClientAttributes" },
    { { 0x12, 0x34, 0x57, 0x78, 0x12, 0x34, 0xab, 0xcd, 0xef, 0x00, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab },
      "lsarpc",
      "LsarClose LsarDelete LsarEnumeratePrivileges LsarQuerySecurityObject LsarSetSecurityObject "
      "LsarChangePassword LsarOpenPolicy LsarQueryInformationPolicy LsarSetInformationPolicy "
      "LsarClearAuditLog LsarCreateAccount LsarEnumerateAccounts LsarCreateTrustedDomain "
      "LsarEnumerateTrustedDomains LsarLookupNames LsarLookupSids LsarCreateSecret LsarOpenAccount "
      "LsarEnumeratePrivilegesAccount LsarAddPrivilegesToAccount LsarRemovePrivilegesFromAccount "
      "LsarGetQuotasForAccount LsarSetQuotasForAccount LsarGetSystemAccessAccount "
      "LsarSetSystemAccessAccount LsarOpenTrustedDomain LsarQueryInfoTrustedDomain "
      "LsarSetInformationTrustedDomain LsarOpenSecret LsarSetSecret LsarQuerySecret "
      "LsarLookupPrivilegeValue LsarLookupPrivilegeName LsarLookupPrivilegeDisplayName LsarDeleteObject "
      "LsarEnumerateAccountsWithUserRight LsarEnumerateAccountRights LsarAddAccountRights "
      "LsarRemoveAccountRights LsarQueryTrustedDomainInfo LsarSetTrustedDomainInfo LsarDeleteTrustedDomain "
      "LsarStorePrivateData LsarRetrievePrivateData LsarOpenPolicy2 LsarGetUserName "
      "LsarQueryInformationPolicy2 LsarSetInformationPolicy2 LsarQueryTrustedDomainInfoByName "
      "LsarSetTrustedDomainInfoByName LsarEnumerateTrustedDomainsEx LsarCreateTrustedDomainEx "
      "LsarCloseTrustedDomainEx LsarQueryDomainInformationPolicy LsarSetDomainInformationPolicy "
      "LsarOpenTrustedDomainByName LsarTestCall LsarLookupSids2 LsarLookupNames2 LsarCreateTrustedDomainEx2 "
      "CredrWrite CredrRead CredrEnumerate CredrWriteDomainCredentials CredrReadDomainCredentials "
      "CredrDelete CredrGetTargetInfo CredrProfileLoaded LsarLookupNames3 CredrGetSessionTypes "
      "LsarRegisterAuditEvent LsarGenAuditEvent LsarUnregisterAuditEvent LsarQueryForestTrustInformation "
      "LsarSetForestTrustInformation CredrRename LsarLookupSids3 LsarLookupNames4" },
    { { 0x12, 0x34, 0x57, 0x78, 0x12, 0x34, 0xab, 0xcd, 0xef, 0x00, 0x01, 0x23, 0x45, 0x67, 0x89, 0xac },
      "samr",
      "SamrConnect SamrCloseHandle SamrSetSecurityObject SamrQuerySecurityObject SamrShutdownSamServer "
      "SamrLookupDomainInSamServer SamrEnumerateDomainsInSamServer SamrOpenDomain "
      "SamrQueryInformationDomain SamrSetInformationDomain SamrCreateGroupInDomain "
      "SamrEnumerateGroupsInDomain SamrCreateUserInDomain SamrEnumerateUsersInDomain "
      "SamrCreateAliasInDomain SamrEnumerateAliasesInDomain SamrGetAliasMembership SamrLookupNamesInDomain "
      "SamrLookupIdsInDomain SamrOpenGroup SamrQueryInformationGroup SamrSetInformationGroup "
      "SamrAddMemberToGroup SamrDeleteGroup SamrRemoveMemberFromGroup SamrGetMembersInGroup "
      "SamrSetMemberAttributesOfGroup SamrOpenAlias SamrQueryInformationAlias SamrSetInformationAlias "
      "SamrDeleteAlias SamrAddMemberToAlias SamrRemoveMemberFromAlias SamrGetMembersInAlias SamrOpenUser "
      "SamrDeleteUser SamrQueryInformationUser SamrSetInformationUser SamrChangePasswordUser "
      "SamrGetGroupsForUser SamrQueryDisplayInformation SamrGetDisplayEnumerationIndex "
      "SamrTestPrivateFunctionsDomain SamrTestPrivateFunctionsUser SamrGetUserDomainPasswordInformation "
      "SamrRemoveMemberFromForeignDomain SamrQueryInformationDomain2 SamrQueryInformationUser2 "
      "SamrQueryDisplayInformation2 SamrGetDisplayEnumerationIndex2 SamrCreateUser2InDomain "
      "SamrQueryDisplayInformation3 SamrAddMultipleMembersToAlias SamrRemoveMultipleMembersFromAlias "
      "SamrOemChangePasswordUser2 SamrUnicodeChangePasswordUser2 SamrGetDomainPasswordInformation "
      "SamrConnect2 SamrSetInformationUser2 SamrSetBootKeyInformation SamrGetBootKeyInformation "
      "SamrConnect3 SamrConnect4 SamrUnicodeChangePasswordUser3 SamrConnect5 SamrRidToSid "
      "SamrSetDSRMPassword SamrValidatePassword SamrQueryLocalizableAccountsInDomain "
      "SamrPerformGenericOperation" },
    { { 0x17, 0xfd, 0xd7, 0x03, 0x18, 0x27, 0x4e, 0x34, 0x79, 0xd4, 0x24, 0xa5, 0x5c, 0x53, 0xbb, 0x37 },
      "msgsvc",
      "NetrMessageNameAdd NetrMessageNameEnum NetrMessageNameGetInfo NetrMessageNameDel" },
    { { 0x1f, 0xf7, 0x06, 0x82, 0x0a, 0x51, 0x30, 0xe8, 0x07, 0x6d, 0x74, 0x0b, 0xe8, 0xce, 0xe9, 0x8b },
      "atsvc",
      "NetrJobAdd NetrJobDel NetrJobEnum NetrJobGetInfo" },
    { { 0x33, 0x8c, 0xd0, 0x01, 0x22, 0x44, 0x31, 0xf1, 0xaa, 0xaa, 0x90, 0x00, 0x38, 0x00, 0x10, 0x03 },
      "winreg",
      "OpenClassesRoot OpenCurrentUser OpenLocalMachine OpenPerformanceData OpenUsers BaseRegCloseKey "
      "BaseRegCreateKey BaseRegDeleteKey BaseRegDeleteValue BaseRegEnumKey BaseRegEnumValue BaseRegFlushKey "
      "BaseRegGetKeySecurity BaseRegLoadKey BaseRegNotifyChangeKeyValue BaseRegOpenKey BaseRegQueryInfoKey "
      "BaseRegQueryValue BaseRegReplaceKey BaseRegRestoreKey BaseRegSaveKey BaseRegSetKeySecurity "
      "BaseRegSetValue BaseRegUnLoadKey BaseInitiateSystemShutdown BaseAbortSystemShutdown "
      "BaseRegGetVersion OpenCurrentConfig OpenDynData BaseRegQueryMultipleValues "
      "BaseInitiateSystemShutdownEx BaseRegSaveKeyEx OpenPerformanceText OpenPerformanceNlsText "
      "BaseRegQueryMultipleValues2 BaseRegDeleteKeyEx" },
    { { 0x36, 0x7a, 0xbb, 0x81, 0x98, 0x44, 0x35, 0xf1, 0xad, 0x32, 0x98, 0xf0, 0x38, 0x00, 0x10, 0x03 },
      "svcctl",
      "CloseServiceHandle ControlService DeleteService LockServiceDatabase QueryServiceObjectSecurity "
      "SetServiceObjectSecurity QueryServiceStatus SetServiceStatus UnlockServiceDatabase "
      "NotifyBootConfigStatus ScSetServiceBitsW ChangeServiceConfigW CreateServiceW EnumDependentServicesW "
      "EnumServicesStatusW OpenSCManagerW OpenServiceW QueryServiceConfigW QueryServiceLockStatusW "
      "StartServiceW GetServiceDisplayNameW GetServiceKeyNameW ScSetServiceBitsA ChangeServiceConfigA "
      "CreateServiceA EnumDependentServicesA EnumServicesStatusA OpenSCManagerA OpenServiceA "
      "QueryServiceConfigA QueryServiceLockStatusA StartServiceA GetServiceDisplayNameA GetServiceKeyNameA "
      "ScGetCurrentGroupStateW EnumServiceGroupW ChangeServiceConfig2A ChangeServiceConfig2W "
      "QueryServiceConfig2A QueryServiceConfig2W QueryServiceStatusEx EnumServicesStatusExA "
      "EnumServicesStatusExW ScSendTSMessage CreateServiceWOW64A CreateServiceWOW64W ScQueryServiceTagInfo "
      "NotifyServiceStatusChange GetNotifyResult CloseNotifyHandle ControlServiceExA ControlServiceExW "
      "ScSendPnPMessage ScValidatePnPService ScOpenServiceStatusHandle - QueryServiceConfigEx - - - "
      "CreateWowService - - - OpenSCManager2" },
    { { 0x39, 0x19, 0x28, 0x6a, 0xb1, 0x0c, 0x11, 0xd0, 0x9b, 0xa8, 0x00, 0xc0, 0x4f, 0xd9, 0x2e, 0xf5 },
      "dssetup",
      "DsRolerGetPrimaryDomainInformation DsRolerDnsNameToFlatName DsRolerDcAsDc DsRolerDcAsReplica "
      "DsRolerDemoteDc DsRolerGetDcOperationProgress DsRolerGetDcOperationResults DsRolerCancel "
      "DsRolerServerSaveStateForUpgrade DsRolerUpgradeDownlevelServer DsRolerAbortDownlevelServerUpgrade" },
    { { 0x4b, 0x32, 0x4f, 0xc8, 0x16, 0x70, 0x01, 0xd3, 0x12, 0x78, 0x5a, 0x47, 0xbf, 0x6e, 0xe1, 0x88 },
      "srvsvc",
      "NetrCharDevEnum NetrCharDevGetInfo NetrCharDevControl NetrCharDevQEnum NetrCharDevQGetInfo "
      "NetrCharDevQSetInfo NetrCharDevQPurge NetrCharDevQPurgeSelf NetrConnectionEnum NetrFileEnum "
      "NetrFileGetInfo NetrFileClose NetrSessionEnum NetrSessionDel NetrShareAdd NetrShareEnum "
      "NetrShareGetInfo NetrShareSetInfo NetrShareDel NetrShareDelSticky NetrShareCheck NetrServerGetInfo "
      "NetrServerSetInfo NetrServerDiskEnum NetrServerStatisticsGet NetrServerTransportAdd "
      "NetrServerTransportEnum NetrServerTransportDel NetrRemoteTOD NetrServerSetServiceBits NetprPathType "
      "NetprPathCanonicalize NetprPathCompare NetprNameValidate NetprNameCanonicalize NetprNameCompare "
      "NetrShareEnumSticky NetrShareDelStart NetrShareDelCommit NetrpGetFileSecurity NetrpSetFileSecurity "
      "NetrServerTransportAddEx NetrServerSetServiceBitsEx NetrDfsGetVersion NetrDfsCreateLocalPartition "
      "NetrDfsDeleteLocalPartition NetrDfsSetLocalVolumeState NetrDfsSetServerInfo NetrDfsCreateExitPoint "
      "NetrDfsDeleteExitPoint NetrDfsModifyPrefix NetrDfsFixLocalVolume NetrDfsManagerReportSiteInfo "
      "NetrServerTransportDelEx - NetrServerAliasEnum NetrServerAliasDel NetrShareDelEx" },
    { { 0x4d, 0x9f, 0x4a, 0xb8, 0x7d, 0x1c, 0x11, 0xcf, 0x86, 0x1e, 0x00, 0x20, 0xaf, 0x6e, 0x7c, 0x57 },
      "IActivation",
      "RemoteActivation" },
    { { 0x4f, 0xc7, 0x42, 0xe0, 0x4a, 0x10, 0x11, 0xcf, 0x82, 0x73, 0x00, 0xaa, 0x00, 0x4a, 0xe6, 0x73 },
      "netdfs",
      "NetrDfsManagerGetVersion NetrDfsAdd NetrDfsRemove NetrDfsSetInfo NetrDfsGetInfo NetrDfsEnum "
      "NetrDfsRename NetrDfsMove NetrDfsManagerGetConfigInfo NetrDfsManagerSendSiteInfo NetrDfsAddFtRoot "
      "NetrDfsRemoveFtRoot NetrDfsAddStdRoot NetrDfsRemoveStdRoot NetrDfsManagerInitialize "
      "NetrDfsAddStdRootForced NetrDfsGetDcAddress NetrDfsSetDcAddress NetrDfsFlushFtTable NetrDfsAdd2 "
      "NetrDfsRemove2 NetrDfsEnumEx NetrDfsSetInfo2 NetrDfsAddRootTarget NetrDfsRemoveRootTarget "
      "NetrDfsGetSupportedNamespaceVersion" },
    { { 0x5a, 0x7b, 0x91, 0xf8, 0xff, 0x00, 0x11, 0xd0, 0xa9, 0xb2, 0x00, 0xc0, 0x4f, 0xb6, 0xe6, 0xfc },
      "msgsvcsend",
      "NetrSendMessage" },
    { { 0xc6, 0x81, 0xd4, 0x88, 0xd8, 0x50, 0x11, 0xd0, 0x8c, 0x52, 0x00, 0xc0, 0x4f, 0xd9, 0x0f, 0x7e },
      "efsrpc2",
      "EfsRpcOpenFileRaw EfsRpcReadFileRaw EfsRpcWriteFileRaw EfsRpcCloseRaw EfsRpcEncryptFileSrv "
      "EfsDecryptFileSrv EfsRpcQueryUsersOnFile EfsRpcQueryRecoveryAgents EfsRpcRemoveUsersFromFile "
      "EfsRpcAddUsersToFile - EfsRpcNotSupported EfsRpcFileKeyInfo EfsRpcDuplicateEncryptionInfoFile - "
      "EfsRpcAddUsersToFileEx EfsRpcFileKeyInfoEx - EfsRpcGetEncryptedFileMetadata "
      "EfsRpcSetEncryptedFileMetadata EfsRpcFlushEfsCache EfsRpcEncryptFileExServ EfsRpcQueryProtectors" },
    { { 0xdf, 0x19, 0x41, 0xc5, 0xfe, 0x89, 0x4e, 0x79, 0xbf, 0x10, 0x46, 0x36, 0x57, 0xac, 0xf4, 0x4d },
      "efsrpc",
      "EfsRpcOpenFileRaw EfsRpcReadFileRaw EfsRpcWriteFileRaw EfsRpcCloseRaw EfsRpcEncryptFileSrv "
      "EfsDecryptFileSrv EfsRpcQueryUsersOnFile EfsRpcQueryRecoveryAgents EfsRpcRemoveUsersFromFile "
      "EfsRpcAddUsersToFile - EfsRpcNotSupported EfsRpcFileKeyInfo EfsRpcDuplicateEncryptionInfoFile - "
      "EfsRpcAddUsersToFileEx EfsRpcFileKeyInfoEx - EfsRpcGetEncryptedFileMetadata "
      "EfsRpcSetEncryptedFileMetadata EfsRpcFlushEfsCache EfsRpcEncryptFileExServ EfsRpcQueryProtectors" },
    { { 0xe1, 0xaf, 0x83, 0x08, 0x5d, 0x1f, 0x11, 0xc9, 0x91, 0xa4, 0x08, 0x00, 0x2b, 0x14, 0xa0, 0xfa },
      "epmapper",
      "ept_insert ept_delete ept_lookup ept_map ept_lookup_handle_free ept_inq_object ept_mgmt_delete "
      "ept_map_auth ept_map_auth_async" },
    { { 0xe3, 0x51, 0x42, 0x35, 0x4b, 0x06, 0x11, 0xd1, 0xab, 0x04, 0x00, 0xc0, 0x4f, 0xc2, 0xdc, 0xd2 },
      "drsuapi",
      "DRSBind DRSUnbind DRSReplicaSync DRSGetNCChanges DRSUpdateRefs DRSReplicaAdd DRSReplicaDel "
      "DRSReplicaModify DRSVerifyNames DRSGetMemberships DRSInterDomainMove DRSGetNT4ChangeLog "
      "DRSCrackNames DRSWriteSPN DRSRemoveDsServer DRSRemoveDsDomain DRSDomainControllerInfo DRSAddEntry "
      "DRSExecuteKCC DRSGetReplInfo DRSAddSidHistory DRSGetMemberships2 DRSReplicaVerifyObjects "
      "DRSGetObjectExistence DRSQuerySitesByCost IDL_DRSInitDemotion IDL_DRSReplicaDemotion "
      "IDL_DRSFinishDemotion IDL_DRSAddCloneDC IDL_DRSWriteNgcKey IDL_DRSReadNgcKey" },
    { { 0xf3, 0x09, 0xad, 0x18, 0xd8, 0x6a, 0x11, 0xd0, 0xa0, 0x75, 0x00, 0xc0, 0x4f, 0xb6, 0x88, 0x20 },
      "IWbemLevel1Login",
      "- - - EstablishPosition RequestChallenge WBEMLogin NTLMLogin" },
    { { 0xf6, 0xbe, 0xaf, 0xf7, 0x1e, 0x19, 0x4f, 0xbb, 0x9f, 0x8f, 0xb8, 0x9e, 0x20, 0x18, 0x33, 0x7c },
      "IEventService",
      "EvtRpcRegisterRemoteSubscription EvtRpcRemoteSubscriptionNextAsync EvtRpcRemoteSubscriptionNext "
      "EvtRpcRemoteSubscriptionWaitAsync EvtRpcRegisterControllableOperation EvtRpcRegisterLogQuery "
      "EvtRpcClearLog EvtRpcExportLog EvtRpcLocalizeExportLog EvtRpcMessageRender "
      "EvtRpcMessageRenderDefault EvtRpcQueryNext EvtRpcQuerySeek EvtRpcClose EvtRpcCancel "
      "EvtRpcAssertConfig EvtRpcRetractConfig EvtRpcOpenLogHandle EvtRpcGetLogFileInfo EvtRpcGetChannelList "
      "EvtRpcGetChannelConfig EvtRpcPutChannelConfig EvtRpcGetPublisherList "
      "EvtRpcGetPublisherListForChannel EvtRpcGetPublisherMetadata EvtRpcGetPublisherResourceMetadata "
      "EvtRpcGetEventMetadataEnum EvtRpcGetNextEventMetadata EvtRpcGetClassicLogDisplayName" },
};

static const struct known_interface *find_interface(const uint8_t uuid[DCE_UUID])
{
    for (size_t i = 0; i < sizeof(known_interfaces) / sizeof(known_interfaces[0]); i++)
        if (memcmp(known_interfaces[i].uuid, uuid, DCE_UUID) == 0)
            return &known_interfaces[i];
    return NULL;
}

const char *dce_service_name(const uint8_t uuid[DCE_UUID])
{
    const struct known_interface *interface = find_interface(uuid);

    return interface ? interface->service : NULL;
}

const char *dce_procedure_name(const uint8_t uuid[DCE_UUID], uint16_t opnum, size_t *length)
{
    const struct known_interface *interface = find_interface(uuid);
    const char *name = interface ? interface->procedures : NULL;

    for (; name && opnum > 0; opnum--) {
        name = strchr(name, ' ');
        name = name ? name + 1 : NULL;
    }
    if (!name || *name == '-')
        return NULL;
    *length = strcspn(name, " ");
    return name;
}
