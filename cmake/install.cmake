# What `cmake --install` puts into a prefix: the program (component runtime), and the library for embedding (component
# development): headers, archives, a CMake package and a pkg-config file. Any prefix works, and it may be moved.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The one target that users see. The archives behind it are one per folder; naming them would tie users to our folders.
set(embedded_folders base core db store ledger)
add_library(kudos_embedded INTERFACE)
add_library(kudos::kudos ALIAS kudos_embedded)
set_target_properties(kudos_embedded PROPERTIES EXPORT_NAME kudos)
target_compile_features(kudos_embedded INTERFACE cxx_std_23)
target_include_directories(kudos_embedded INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# libpq is for the user too: the connection is theirs.
target_link_libraries(kudos_embedded INTERFACE kudos_ledger PostgreSQL::PostgreSQL Threads::Threads)
set(embedded_targets kudos_embedded)
foreach(folder ${embedded_folders})
  set_target_properties(kudos_${folder} PROPERTIES EXPORT_NAME internal_${folder})
  list(APPEND embedded_targets kudos_${folder})
endforeach()

# ---- Program ----

install(TARGETS kudos RUNTIME COMPONENT runtime)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)

# ---- Library ----

install(TARGETS ${embedded_targets} EXPORT kudos ARCHIVE COMPONENT development)
install(DIRECTORY include/kudos DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/kudos-dev COMPONENT development)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kudos)
install(EXPORT kudos NAMESPACE kudos:: FILE kudosTargets.cmake DESTINATION ${package_dir} COMPONENT development)
configure_package_config_file(cmake/kudosConfig.cmake.in ${PROJECT_BINARY_DIR}/kudosConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break sources.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kudosConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kudosConfig.cmake ${PROJECT_BINARY_DIR}/kudosConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT development)

# pkg-config finds the prefix from where kudos.pc lies. A linker reads archives once, from left to right: the one that
# uses another comes first.
file(RELATIVE_PATH prefix_from_pkgconfig /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" prefix_from_pkgconfig "${prefix_from_pkgconfig}")
set(embedded_libs "")
foreach(folder ${embedded_folders})
  string(PREPEND embedded_libs "-lkudos_${folder} ")
endforeach()
configure_file(cmake/kudos.pc.in ${PROJECT_BINARY_DIR}/kudos.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/kudos.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
